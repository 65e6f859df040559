/** The offline agent's own tools. */
import { mkdir, open, readdir, realpath } from "node:fs/promises";
import { dirname, extname, join, matchesGlob, relative } from "node:path";
import { containedPath, isErrno } from "@aegis/lib/files.ts";
import { z } from "zod";
import { cutList, defineProjectTool, type ProjectTool, plural, toolError, toolOutput } from "./project-tool.ts";

const maxFilesShown = 200;
const maxRowsShown = 100;
const maxLineLength = 200;
const maxCharacters = 20_000;
/** A wrong rule must not overwrite code. */
const extensions = [".md", ".txt"];

const listFiles = defineProjectTool({
  name: "list_files",
  kind: "search",
  writes: false,
  input: z.strictObject({ glob: z.string().optional() }),
  title: ({ glob }) => (glob === undefined ? "List files" : `List files ${glob}`),
  async run({ glob }, { root, signal }) {
    const { paths, cut } = await projectFiles(root, signal);
    const found = glob === undefined ? paths : paths.filter((path) => matchesGlob(path, glob));
    const heading = `${plural(found.length, "file")}${cut ? " or more" : ""}${glob === undefined ? "" : ` like ${glob}`}`;
    return toolOutput(cutList(heading, found, maxFilesShown));
  },
});

/** Searches for plain words: a regular expression from a message could block the daemon forever. */
const grep = defineProjectTool({
  name: "grep",
  kind: "search",
  writes: false,
  input: z.strictObject({ pattern: z.string().min(1) }),
  title: ({ pattern }) => `Search for ${pattern}`,
  async run({ pattern }, { root, signal }) {
    const words = pattern.toLowerCase();
    const files = await projectFiles(root, signal);
    const leftOut = new LeftOut(files);
    const matches: string[] = [];
    let filesWithMatch = 0;
    for await (const { path, lines } of projectTexts(root, files, leftOut, signal)) {
      const before = matches.length;
      for (const [index, line] of lines.entries()) {
        if (!line.toLowerCase().includes(words)) continue;
        matches.push(`${path}:${index + 1}: ${line.trim().slice(0, maxLineLength)}`);
      }
      if (matches.length > before) filesWithMatch += 1;
    }
    const heading = `${plural(matches.length, "match", "matches")} in ${plural(filesWithMatch, "file")}`;
    return toolOutput([cutList(heading, matches, maxRowsShown), ...leftOut.lines()].join("\n"));
  },
});

const countTodos = defineProjectTool({
  name: "count_todos",
  kind: "search",
  writes: false,
  input: z.strictObject({}),
  title: () => "Count TODOs",
  async run(_, { root, signal }) {
    const files = await projectFiles(root, signal);
    const leftOut = new LeftOut(files);
    const counts: { path: string; count: number }[] = [];
    for await (const { path, lines } of projectTexts(root, files, leftOut, signal)) {
      const count = lines.reduce((sum, line) => sum + (line.match(/\bTODO\b/g)?.length ?? 0), 0);
      if (count > 0) counts.push({ path, count });
    }
    counts.sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1));
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    // In lower case, so that a report of this result is not counted the next time.
    const heading = `${plural(total, "todo")} in ${plural(counts.length, "file")}`;
    const rows = counts.map(({ path, count }) => `- ${path}: ${count}`);
    return toolOutput([cutList(heading, rows, maxRowsShown), ...leftOut.lines()].join("\n"));
  },
});

const readProjectFile = defineProjectTool({
  name: "read_file",
  kind: "read",
  writes: false,
  input: z.strictObject({ path: z.string().min(1) }),
  title: ({ path }) => `Read ${path}`,
  path: ({ path }) => path,
  async run({ path }, { root }) {
    const place = await projectPath(root, path);
    if ("problem" in place) return toolError(place.problem);
    const text = await readText(place.real);
    if (typeof text !== "string") return toolError(`cannot read ${path}: ${problems[text.problem]}`);
    const lineCount = text === "" ? 0 : text.trimEnd().split("\n").length;
    const rest = text.length - maxCharacters;
    return toolOutput(
      [
        `${path}, ${plural(lineCount, "line")}:`,
        text.slice(0, maxCharacters).trimEnd(),
        ...(rest > 0 ? [`(${plural(rest, "more character")} not shown)`] : []),
      ].join("\n"),
    );
  },
});

const problems = {
  binary: "it is not a text file",
  large: "it is too large",
  unreadable: "there is no such file, or it may not be read",
};

const writeReport = defineProjectTool({
  name: "write_report",
  kind: "edit",
  writes: true,
  input: z.strictObject({ path: z.string().min(1), text: z.string() }),
  title: ({ path }) => `Write ${path}`,
  path: ({ path }) => path,
  changes: ({ path, text }) => [{ path, after: text }],
  async run({ path, text }, { root, writeFile }) {
    if (!extensions.includes(extname(path))) return toolError(`${path}: a report ends in ${extensions.join(" or ")}`);
    const place = await projectPath(root, path);
    if ("problem" in place) return toolError(place.problem);
    const before = await readText(place.real);
    await mkdir(dirname(place.real), { recursive: true });
    await writeFile(place.real, text);
    return {
      output: `wrote ${path}`,
      is_error: false,
      diff: { path, before: typeof before === "string" ? before : null, after: text },
    };
  },
});

export const projectTools: readonly ProjectTool[] = [listFiles, grep, countTodos, readProjectFile, writeReport];

const skippedNames = new Set([".git", "node_modules", "dist"]);
const skippedPaths = new Set([".aegis/state"]);
const maxFiles = 20_000;
const maxTextBytes = 1024 * 1024;
const sniffBytes = 8192;

type ProjectFiles = {
  /** Relative to the root, with `/`, sorted. */
  paths: string[];
  /** True if there are more files than the limit. */
  cut: boolean;
  /** The number of folders that cannot be read. */
  unreadable: number;
};

/** The project's files as the offline agent sees them: without links, build output, dependencies and state. */
async function projectFiles(root: string, signal: AbortSignal): Promise<ProjectFiles> {
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
async function projectPath(root: string, path: string): Promise<{ real: string } | { problem: string }> {
  const real = await containedPath(root, path);
  if (real === null) return { problem: `${path} is outside the project` };
  const isOff = isSkipped(relative(await realpath(root), real));
  return isOff ? { problem: `${path} is in a folder that this agent does not read` } : { real };
}

/** Counts the files that a search skipped, to report them with the result. */
class LeftOut {
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
async function* projectTexts(
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
async function readText(path: string): Promise<string | { problem: "binary" | "large" | "unreadable" }> {
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
