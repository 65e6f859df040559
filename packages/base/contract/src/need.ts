/** What waits for a person: asks, failed work, and finished work in a worktree that can be landed. */
import { z } from "zod";
import { changeCountsSchema } from "./changes.ts";
import { sessionIdSchema, taskIdSchema } from "./schema-ids.ts";

export const needSchema = z.object({
  kind: z.enum(["ask", "failed", "ready"]),
  /** Null for a task that failed without a session. */
  session: sessionIdSchema.nullable(),
  /** The failed task. */
  task: taskIdSchema.nullable(),
  title: z.string(),
  /** The handle of the session, or the id of the task. */
  handle: z.string(),
  agent: z.string().nullable(),
  /** Whether the session is closed. */
  closed: z.boolean(),
  since: z.number(),
  /** The error of failed work, or why the last landing did not succeed; otherwise null. */
  problem: z.string().nullable(),
  /** For finished work: its size, whether its check passed (null: not checked), and the branch on which it lands. */
  changes: changeCountsSchema.nullable(),
  check: z.enum(["passed", "failed"]).nullable(),
  target: z.string().nullable(),
});
export type OpenNeed = z.infer<typeof needSchema>;
