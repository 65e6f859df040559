/** The git worktree in which a session works instead of the project's folder. */
import { z } from "zod";
import { sessionIdSchema } from "./schema-ids.ts";

/** `none`: the session works in the project's folder. `worktree`: in a git worktree of its own. */
export const isolationSchema = z.enum(["none", "worktree"]);
export type Isolation = z.infer<typeof isolationSchema>;

/** `new`: not created yet. `creating`: begun, and repeated after a crash. `removing`: rescued, being deleted. */
export const worktreeStateSchema = z.enum(["new", "creating", "ready", "removing", "removed"]);
export type WorktreeState = z.infer<typeof worktreeStateSchema>;

export const worktreeSchema = z.object({
  session: sessionIdSchema,
  /** What the worktree was requested to start from: a branch, a tag, a commit or `dirty`; null for HEAD. */
  base_ref: z.string().nullable(),
  /** The commit that it started from. Null until it is created. */
  base: z.string().nullable(),
  /** The branch that was checked out in the project then, where the work lands; null if it was detached. */
  target: z.string().nullable(),
  dir: z.string().nullable(),
  branch: z.string().nullable(),
  /** The git folder that all worktrees of the repository share. */
  repository: z.string().nullable(),
  state: worktreeStateSchema,
  /** The first of its ports, in `AEGIS_PORT`. */
  port: z.int().nullable(),
  /** Why it could not be created or removed. */
  problem: z.string().nullable(),
  created_at: z.number(),
});
export type Worktree = z.infer<typeof worktreeSchema>;

export const worktreeViewSchema = worktreeSchema.extend({
  handle: z.string(),
  /** Whether the session is closed. */
  closed: z.boolean(),
  /** True if the folder of a worktree that should be there is missing. */
  missing: z.boolean(),
  /** The node that has its files. Absent without a cluster. */
  node: z.string().optional(),
});
export type WorktreeView = z.infer<typeof worktreeViewSchema>;

export const baseRefMaxLength = 200;
/** A branch, a tag or a commit: never an option of git. */
export const baseRefPattern = /^[A-Za-z0-9_@][A-Za-z0-9._/@^~+-]*$/;
export const baseRefExpected = "expected a branch, a tag, a commit, or dirty";
