/** The changes that a session's turns made to the files of a git working tree. */
import { z } from "zod";
import { sessionIdSchema, turnIdSchema } from "./schema-ids.ts";

/**
 * `sole`: only this session had a turn while the file changed. `named`: several had one, and only this session reported
 * an edit of the file. `shared`: Aegis cannot tell which of several sessions changed it.
 */
export const attributionSchema = z.enum(["sole", "named", "shared"]);
export type Attribution = z.infer<typeof attributionSchema>;

export const changedFileSchema = z.object({
  path: z.string(),
  /** The earlier path of a renamed file. */
  from: z.string().nullable(),
  status: z.enum(["added", "modified", "deleted", "renamed", "type_changed"]),
  /** Git modes, such as `100644`, `100755` (executable), `120000` (link) and `160000` (submodule). */
  old_mode: z.string(),
  new_mode: z.string(),
  binary: z.boolean(),
  submodule: z.boolean(),
  /** Lines; 0 for a binary file. */
  added: z.int(),
  deleted: z.int(),
  attribution: attributionSchema,
  /** The handles of the sessions that may have changed it, this one included. */
  sessions: z.array(z.string()),
  /** It also changed between turns, when no session was working: an editor or a person. */
  outside: z.boolean(),
});
export type ChangedFile = z.infer<typeof changedFileSchema>;

export const changesSchema = z.object({
  session: sessionIdSchema,
  handle: z.string(),
  /** False: the folder is not in a git repository, so Aegis records no changes. */
  git: z.boolean(),
  /** The root of the working tree. */
  folder: z.string().nullable(),
  /** The turns that the answer covers, oldest first. */
  turns: z.array(turnIdSchema),
  /** The commit that was checked out when the first of them began; null on a branch without a commit. */
  base: z.string().nullable(),
  /** Trees before the first and after the last turn, for `git diff`. A running turn ends now. */
  before: z.string().nullable(),
  after: z.string().nullable(),
  files: z.array(changedFileSchema),
  /** How many more files changed than `files` lists; `added` and `deleted` count all of them. */
  omitted: z.int(),
  added: z.int(),
  deleted: z.int(),
  /** Only if requested. */
  patch: z.string().nullable(),
  /** Files whose patch is missing or cut because it is too long. */
  truncated: z.array(z.string()),
  /** Untracked files that are too large to be recorded. */
  skipped: z.array(z.object({ path: z.string(), size: z.number() })),
  /** Submodules with uncommitted changes, which are not part of the diff. */
  dirty_submodules: z.array(z.string()),
  /** Filters of the repository's configuration that Aegis did not run. */
  filters_off: z.array(z.string()),
  /** Why changes of some turns are missing. */
  problems: z.array(z.string()),
});
export type Changes = z.infer<typeof changesSchema>;

export const changeCountsSchema = z.object({
  files: z.int(),
  added: z.int(),
  deleted: z.int(),
  /** Files that another session may have changed. */
  shared: z.int(),
});
export type ChangeCounts = z.infer<typeof changeCountsSchema>;
