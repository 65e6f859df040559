/** Finds edits in a plugin's folder since its install, and the differences between two versions. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "@aegis/lib/child-env.ts";
import { GitRunError, gitRunner } from "@aegis/lib/git/run.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { listTree } from "@aegis/lib/safe-tree.ts";
import { contentHash } from "./additions.ts";

export type TreeChanges = { changed: string[]; added: string[]; deleted: string[] };

export type FileHashes = Readonly<Record<string, string>>;

export async function fileHashes(dir: string): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const path of await listTree(dir)) hashes[path] = contentHash(await readFile(join(dir, path)));
  return hashes;
}

export function compareFiles(before: FileHashes, after: FileHashes): TreeChanges {
  const old = Object.keys(before);
  return {
    changed: old.filter((path) => path in after && after[path] !== before[path]),
    added: Object.keys(after).filter((path) => !(path in before)),
    deleted: old.filter((path) => !(path in after)),
  };
}

export function isUnchanged({ changed, added, deleted }: TreeChanges): boolean {
  return changed.length + added.length + deleted.length === 0;
}

export function changeLines({ changed, added, deleted }: TreeChanges): string[] {
  return [
    ...changed.map((path) => `changed  ${path}`),
    ...added.map((path) => `added    ${path}`),
    ...deleted.map((path) => `deleted  ${path}`),
  ];
}

const diffLinesAtMost = 400;
const maxDiff = 8 << 20;
const isHeader = /^(?:diff --git|---|\+\+\+|Binary files|(?:rename|copy) (?:from|to)) /;

/** A diff in git's format. Null if git is not installed. */
export async function diffLines(
  before: string,
  after: string,
  deps: { processes: Processes; env: Environment; cwd: string },
): Promise<string[] | null> {
  const flags = ["--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=", "--dst-prefix="];
  const args = ["-c", "core.attributesFile=/dev/null", "diff", ...flags, "--", before, after];
  const options = { codes: [0, 1], env: { GIT_CONFIG_GLOBAL: "/dev/null" }, maxBytes: maxDiff };
  const found = await gitRunner(deps)(deps.cwd, args, options).catch((error: unknown) => {
    if (error instanceof GitRunError && error.problem === "no_git") return null;
    throw error;
  });
  if (found === null) return null;
  // With empty prefixes, git omits the first slash of a path.
  const names = [before, after].flatMap((folder) => [`${folder}/`, `${folder.slice(1)}/`]);
  const rows = found.stdout.toString("utf8").split("\n");
  if (rows.at(-1) === "") rows.pop();
  const shown = rows
    .slice(0, diffLinesAtMost)
    .map((line) => (isHeader.test(line) ? names.reduce((text, name) => text.replaceAll(name, ""), line) : line));
  return rows.length > diffLinesAtMost || found.truncated
    ? [...shown, `… more than ${diffLinesAtMost} lines differ`]
    : shown;
}
