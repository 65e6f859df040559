/** Reads `git status --porcelain=v2 -z`: how the files of a working tree differ from an index. */
import { fields } from "./run.ts";

export type WorkStatus = {
  /** The commit that HEAD names; null on a branch without a commit. */
  head: string | null;
  /** Paths of the index whose file or submodule differs. */
  changed: string[];
  /** Paths of the index without a file. */
  gone: string[];
  /** Untracked files. A nested repository ends with a slash. */
  untracked: string[];
};

/** One walk over the working tree. Does not look for uncommitted changes in submodules, which would start git in them. */
export const statusArgs: readonly string[] = [
  ...["status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind"],
  ...["--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"],
];

/** The number of fields before the path. */
const columns: Readonly<Record<string, number>> = { "1": 8, u: 10 };
const noFile = "000000";

/** Paths have one character per byte, as `fields` returns them. Throws for a record that these arguments do not cause. */
export function parseStatus(output: Buffer): WorkStatus {
  const found: WorkStatus = { head: null, changed: [], gone: [], untracked: [] };
  for (const record of fields(output)) {
    const kind = record[0] ?? "";
    if (kind === "#") {
      const oid = /^# branch\.oid ([0-9a-f]+)$/.exec(record)?.[1];
      if (oid !== undefined) found.head = oid;
    } else if (kind === "?") found.untracked.push(record.slice(2));
    else {
      const count = columns[kind];
      if (count === undefined) throw new Error(`git status printed an unknown record: ${record.slice(0, 40)}`);
      const parts = record.split(" ");
      const path = parts.slice(count).join(" ");
      const inWork = parts[1]?.[1] ?? ".";
      if (kind === "1" && inWork === ".") continue;
      const isGone = kind === "1" ? inWork === "D" : parts[6] === noFile;
      (isGone ? found.gone : found.changed).push(path);
    }
  }
  return found;
}
