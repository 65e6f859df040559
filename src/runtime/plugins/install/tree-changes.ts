/** What was edited in a plugin's folder since it was put there, and how two versions of it differ. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { childEnv, type Environment } from "../../../lib/child-env.ts";
import { isErrno } from "../../../lib/files.ts";
import { lines } from "../../../lib/jsonl.ts";
import type { Processes } from "../../../lib/process.ts";
import { listTree } from "../../../lib/safe-tree.ts";
import { contentHash } from "./project-config.ts";

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
const maxLine = 1 << 20;
const isHeader = /^(?:diff --git|---|\+\+\+|Binary files|(?:rename|copy) (?:from|to)) /;

/** The lines that differ, as git shows them. Null when there is no git to show them. */
export async function diffLines(
  before: string,
  after: string,
  deps: { processes: Processes; env: Environment; cwd: string },
): Promise<string[] | null> {
  const flags = ["--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=", "--dst-prefix="];
  const argv = ["git", "-c", "core.attributesFile=/dev/null", "diff", ...flags, "--", before, after] as const;
  const env = childEnv(deps.env, [], { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", GIT_PAGER: "cat" });
  const child = await deps.processes.start({ argv: [...argv], env, cwd: deps.cwd }).catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  });
  if (child === null) return null;
  child.stdin.end();
  // With empty prefixes git leaves out the first slash of a path.
  const names = [before, after].flatMap((folder) => [`${folder}/`, `${folder.slice(1)}/`]);
  const shown: string[] = [];
  try {
    for await (const line of lines(child.stdout, { maxBytes: maxLine })) {
      if (shown.length === diffLinesAtMost) {
        shown.push(`… more than ${diffLinesAtMost} lines differ`);
        break;
      }
      shown.push(isHeader.test(line) ? names.reduce((text, name) => text.replaceAll(name, ""), line) : line);
    }
  } finally {
    await child.stop({ graceMs: 200 });
  }
  return shown;
}
