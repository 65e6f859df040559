/** The project's files as the offline agent sees them: without links, build output, dependencies and state. */
import { open, readdir, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { containedPath, isErrno } from "../../../lib/files.ts";

const skippedNames = new Set([".git", "node_modules", "dist"]);
const skippedPaths = new Set([".aegis/state"]);
const maxFiles = 20_000;
const maxTextBytes = 1024 * 1024;
const sniffBytes = 8192;

export type ProjectFiles = {
  /** Relative to the root, with `/`, sorted. */
  paths: string[];
  /** True if there are more files than the limit. */
  cut: boolean;
  /** The number of folders that cannot be read. */
  unreadable: number;
};

export async function projectFiles(root: string, signal: AbortSignal): Promise<ProjectFiles> {
  const paths: string[] = [];
  const folders = [""];
  let unreadable = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    signal.throwIfAborted();
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error: unknown) => {
      // A folder may disappear during the walk; the root itself must exist.
      if (folder === "" || !isErrno(error, "EACCES", "EPERM", "ENOENT")) throw error;
      unreadable += 1;
      return [];
    });
    for (const entry of entries) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (isSkipped(path)) continue;
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) paths.push(path);
      if (paths.length > maxFiles) return { paths: paths.slice(0, maxFiles).sort(), cut: true, unreadable };
    }
  }
  return { paths: paths.sort(), cut: false, unreadable };
}

/** The real path of a file that the agent may read or write, or why it may not. */
export async function projectPath(root: string, path: string): Promise<{ real: string } | { problem: string }> {
  const real = await containedPath(root, path);
  if (real === null) return { problem: `${path} is outside the project` };
  const isOff = isSkipped(relative(await realpath(root), real));
  return isOff ? { problem: `${path} is in a folder that this agent does not read` } : { real };
}

/** Counts the files that a search skipped, to report them with the result. */
export class LeftOut {
  binary = 0;
  large = 0;
  unreadable: number;
  readonly #cut: boolean;

  constructor(files: ProjectFiles) {
    this.unreadable = files.unreadable;
    this.#cut = files.cut;
  }

  /** One line, or none if everything was read. Binary files are expected and not reported. */
  lines(): string[] {
    const parts = [
      ...(this.large > 0 ? [`${this.large} too large`] : []),
      ...(this.unreadable > 0 ? [`${this.unreadable} unreadable`] : []),
      ...(this.#cut ? [`all after the first ${maxFiles}`] : []),
    ];
    return parts.length === 0 ? [] : [`(files left out: ${parts.join(", ")})`];
  }
}

/** The lines of each text file. */
export async function* projectTexts(
  root: string,
  files: ProjectFiles,
  leftOut: LeftOut,
  signal: AbortSignal,
): AsyncGenerator<{ path: string; lines: string[] }> {
  for (const path of files.paths) {
    signal.throwIfAborted();
    const text = await readText(join(root, path));
    if (typeof text === "string") yield { path, lines: text.split("\n") };
    else leftOut[text.problem] += 1;
  }
}

/** A text file's content, or why it cannot be read. */
export async function readText(path: string): Promise<string | { problem: "binary" | "large" | "unreadable" }> {
  try {
    const file = await open(path, "r");
    try {
      if ((await file.stat()).size > maxTextBytes) return { problem: "large" };
      const data = await file.readFile();
      return data.subarray(0, sniffBytes).includes(0) ? { problem: "binary" } : data.toString("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isErrno(error, "ENOENT", "EACCES", "EPERM", "EISDIR", "ELOOP")) return { problem: "unreadable" };
    throw error;
  }
}

function isSkipped(path: string): boolean {
  const parts = path.split("/");
  return parts.some((part, index) => {
    return skippedNames.has(part) || skippedPaths.has(parts.slice(0, index + 1).join("/"));
  });
}
