/**
 * The content of a rescue. It is a commit whose tree has `worktree/` (raw bytes, without filters), `stage0` to `stage3`
 * (the objects that the index needs), `index` (its raw bytes), `state/` (an unfinished operation) and `meta.json`. Its
 * parents keep HEAD and the commits of its log.
 */
import type { SessionId } from "@aegis/contract/ids.ts";

export type RescueMeta = {
  v: 1;
  handle: string;
  reason: string;
  head: string | null;
  /** The full name of the branch; null if HEAD was detached. */
  branch: string | null;
  /** Exact mode and modification time in nanoseconds of each file. */
  modes: Record<string, [number, string]>;
  /** Empty folders. */
  dirs: string[];
  /** Nested repositories whose commits and files are all elsewhere. */
  nested: string[];
  /** Sockets, pipes and devices, which git cannot store. */
  skipped: string[];
  index_seconds: number | null;
};

/** Files of an unfinished operation, such as a merge, and the log of HEAD. */
export const stateFiles = [
  ...["MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD"],
  ...["REBASE_HEAD", "ORIG_HEAD", "SQUASH_MSG", "BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer"],
  ...["info/sparse-checkout", "config.worktree", "logs/HEAD"],
];

export const rescueRefs = "refs/aegis/rescue";

export function rescueRef(session: SessionId, at: number): string {
  return `${rescueRefs}/${session}/${at}`;
}

/** The bytes of a path of which each character is one byte. */
export function pathBytes(root: string, field: string): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), Buffer.from(field, "latin1")]);
}
