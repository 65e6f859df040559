/** A landing: the work of a session in a worktree becomes part of a branch. */
import { z } from "zod";
import { receiptViewSchema } from "./receipt.ts";
import { landingIdSchema, sessionIdSchema } from "./schema-ids.ts";

export const landHowSchema = z.enum(["squash", "merge", "rebase"]);
export type LandHow = z.infer<typeof landHowSchema>;

/** The queue of all landings. No other queue may have this name. */
export const mergeQueueName = "merge-queue";

/**
 * `new` (waits in the queue) → `planning` → `ready` (merged, not checked) → `checked` → `landed`. `waiting`: the checkout
 * of the branch has to be clean first. `conflict`: returned to the session. `failed`: the check failed. `nothing`: there
 * was nothing to land. `cancelled`: a person cancelled it while it waited.
 */
export const landingStateSchema = z.enum([
  "new",
  "planning",
  "ready",
  "checked",
  "waiting",
  "returning",
  "conflict",
  "failed",
  "nothing",
  "landed",
  "cancelled",
]);
export type LandingState = z.infer<typeof landingStateSchema>;

/** States of landings that have not ended. */
export const openLandings: readonly LandingState[] = ["new", "planning", "ready", "checked", "returning"];

export const landingSchema = z.object({
  id: landingIdSchema,
  session: sessionIdSchema,
  /** The branch on which it lands. */
  target: z.string(),
  how: landHowSchema,
  /** The command that must succeed before the branch moves. */
  check: z.string().nullable(),
  /** The message of the commit, if a person gave one. Absent: it comes from the title and the last answer. */
  message: z.string().optional(),
  state: landingStateSchema,
  /** The commit of the branch before, the session's work, and the commit that the branch moves to. */
  old: z.string().nullable(),
  tip: z.string().nullable(),
  next: z.string().nullable(),
  /** The exit code of the check and the tree it ran on. */
  exit: z.int().nullable(),
  tree: z.string().nullable(),
  /** Files in conflict. */
  files: z.array(z.string()),
  /** Why it waits or failed, with the end of the output of a failed check. */
  detail: z.string().nullable(),
  created_at: z.number(),
  ended_at: z.number().nullable(),
});
export type Landing = z.infer<typeof landingSchema>;

/** Without a check, a landing has no receipt: it is unverified. */
export const landingViewSchema = landingSchema.extend({
  /** The title of the session, and its handle. */
  title: z.string().default(""),
  handle: z.string().default(""),
  receipt: receiptViewSchema.nullable().default(null),
  /** Position among the landings that wait, from 1; null if it does not wait. */
  queued_position: z.int().nullable().default(null),
});
export type LandingView = z.infer<typeof landingViewSchema>;
