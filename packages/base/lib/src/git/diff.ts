/** Compares two trees: which files differ, by how many lines, and the patch. */
import type { Repository } from "./repository.ts";
import { fields, shown } from "./run.ts";

type FileStatus = "added" | "modified" | "deleted" | "renamed" | "type_changed";

export type FileDiff = {
  path: string;
  /** The earlier path of a renamed file. */
  from: string | null;
  status: FileStatus;
  old_mode: string;
  new_mode: string;
  old_oid: string;
  new_oid: string;
  binary: boolean;
  submodule: boolean;
  added: number;
  deleted: number;
};

export type Patch = {
  text: string;
  /** Files whose patch is missing or cut because it is too long. */
  truncated: string[];
};

export type PatchLimits = { bytes: number; fileBytes: number; blobBytes: number };

export const patchLimits: PatchLimits = { bytes: 1 << 20, fileBytes: 64 << 10, blobBytes: 512 << 10 };

const statuses: Readonly<Record<string, FileStatus>> = {
  A: "added",
  M: "modified",
  D: "deleted",
  R: "renamed",
  C: "added",
  T: "type_changed",
};
const flags = ["-r", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"];
const renames = ["-M", "-l400"];
const submoduleMode = "160000";

export async function diffTrees(repository: Repository, from: string, to: string): Promise<FileDiff[]> {
  if (from === to) return [];
  const args = ["diff-tree", ...flags, ...renames, "--raw", "--numstat", from, to];
  return parseDiff(fields((await repository.git(args)).stdout));
}

/** Raw records come first, then one record with the counts of each file. */
function parseDiff(parts: readonly string[]): FileDiff[] {
  const files: FileDiff[] = [];
  const byPath = new Map<string, FileDiff>();
  let at = 0;
  const next = () => parts[at++] ?? "";
  while (at < parts.length) {
    const head = next();
    if (head.startsWith(":")) {
      const [old_mode = "", new_mode = "", old_oid = "", new_oid = "", letter = ""] = head.slice(1).split(" ");
      const isMoved = /^[RC]/.test(letter);
      const first = next();
      const path = isMoved ? next() : first;
      const file: FileDiff = {
        path: shown(path),
        from: letter.startsWith("R") ? shown(first) : null,
        status: statuses[letter[0] ?? ""] ?? "modified",
        old_mode,
        new_mode,
        old_oid,
        new_oid,
        binary: false,
        submodule: old_mode === submoduleMode || new_mode === submoduleMode,
        added: 0,
        deleted: 0,
      };
      files.push(file);
      byPath.set(path, file);
      continue;
    }
    const [added = "", deleted = "", ...name] = head.split("\t");
    let path = name.join("\t");
    if (path === "") {
      next();
      path = next();
    }
    const file = byPath.get(path);
    if (file === undefined) continue;
    file.binary = added === "-";
    file.added = Number(added) || 0;
    file.deleted = Number(deleted) || 0;
  }
  return files;
}

/** The paths that differ between each pair of trees, without renames. One git process for all pairs. */
export async function changedPaths(
  repository: Repository,
  pairs: readonly (readonly [string, string])[],
): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>();
  const different = pairs.filter(([from, to]) => from !== to);
  if (different.length === 0) return found;
  const input = `${different.map(([from, to]) => `${from} ${to}`).join("\n")}\n`;
  const { stdout } = await repository.git(["diff-tree", "--stdin", ...flags, "--raw", "--no-renames"], { input });
  let paths = new Set<string>();
  const parts = fields(stdout);
  for (let at = 0; at < parts.length; at++) {
    let head = parts[at] ?? "";
    // A pair is announced by a line, also in NUL-separated output.
    for (let end = head.indexOf("\n"); end !== -1 && !head.startsWith(":"); end = head.indexOf("\n")) {
      paths = new Set();
      found.set(head.slice(0, end), paths);
      head = head.slice(end + 1);
    }
    if (head === "") continue;
    at += 1;
    paths.add(shown(parts[at] ?? ""));
  }
  return found;
}

export function pairKey(from: string, to: string): string {
  return `${from} ${to}`;
}

/** The patch of these files. Files with very large content are left out and named. */
export async function patchOf(
  repository: Repository,
  from: string,
  to: string,
  files: readonly FileDiff[],
  limits: PatchLimits = patchLimits,
): Promise<Patch> {
  const sizes = await blobSizes(repository, files);
  const isLarge = (file: FileDiff) =>
    [file.old_oid, file.new_oid].some((oid) => (sizes.get(oid) ?? 0) > limits.blobBytes);
  const truncated = files.filter((file) => !file.binary && isLarge(file)).map((file) => file.path);
  const wanted = files.filter((file) => file.binary || !isLarge(file));
  let text = "";
  for (let at = 0; at < wanted.length && text.length < limits.bytes; at += pathsPerCall) {
    const some = wanted.slice(at, at + pathsPerCall);
    const paths = some.flatMap((file) => (file.from === null ? [file.path] : [file.from, file.path]));
    const { stdout } = await repository.git(
      [
        ...["diff-tree", "-r", ...renames, "--patch", "--no-color", "--no-ext-diff", "--no-textconv"],
        ...["--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", from, to, "--", ...paths],
      ],
      { maxBytes: 8 * limits.bytes },
    );
    for (const [index, part] of splitPatch(stdout.toString("utf8")).entries()) {
      const name = some[index]?.path ?? "";
      if (text.length + Math.min(part.length, limits.fileBytes) > limits.bytes) {
        truncated.push(...wanted.slice(at + index).map((file) => file.path));
        return { text, truncated };
      }
      if (part.length > limits.fileBytes) truncated.push(name);
      text += part.length > limits.fileBytes ? cutPatch(part, limits.fileBytes) : part;
    }
  }
  return { text, truncated };
}

const pathsPerCall = 100;

function splitPatch(text: string): string[] {
  return text === "" ? [] : text.split(/^(?=diff --git )/m);
}

function cutPatch(part: string, limit: number): string {
  const end = part.lastIndexOf("\n", limit);
  return `${part.slice(0, end === -1 ? limit : end)}\n`;
}

async function blobSizes(repository: Repository, files: readonly FileDiff[]): Promise<Map<string, number>> {
  const oids = new Set(
    files.filter(({ submodule }) => !submodule).flatMap(({ old_oid, new_oid }) => [old_oid, new_oid]),
  );
  const real = [...oids].filter((oid) => !/^0+$/.test(oid));
  if (real.length === 0) return new Map();
  const { stdout } = await repository.git(["cat-file", "--batch-check=%(objectname) %(objectsize)"], {
    input: `${real.join("\n")}\n`,
  });
  return new Map(
    stdout
      .toString()
      .split("\n")
      .map((row): [string, number] => {
        const [oid = "", size = ""] = row.split(" ");
        return [oid, Number(size) || 0];
      }),
  );
}
