/** Why a message exists: its causes, back to the person or the schedule at the beginning. */
import { z } from "zod";
import { sessionIdSchema } from "./schema-ids.ts";

/**
 * `message`, `turn`, `task`, `run`, `broadcast` and `subagent` are steps on the way. The last link is the beginning:
 * `person`, `schedule`, `client` (a program over MCP), `webhook`, or `aegis` for a notice without a recorded cause.
 */
export const whyKindSchema = z.enum([
  ...(["message", "turn", "task", "run", "broadcast", "subagent"] as const),
  ...(["person", "schedule", "client", "webhook", "aegis"] as const),
]);
export type WhyKind = z.infer<typeof whyKindSchema>;

export const whyLinkSchema = z.object({
  kind: whyKindSchema,
  /** The id of the message, turn, task, run, broadcast, subagent or firing; null if there is none. */
  id: z.string().nullable(),
  /** When it was admitted, started, enqueued or fired. */
  at: z.number().nullable(),
  /** The session that received the message, took the turn, or works for the task. */
  session: sessionIdSchema.nullable(),
  handle: z.string().nullable(),
  agent: z.string().nullable(),
  /** The name of the queue, workflow, group, schedule, client or webhook. */
  name: z.string().nullable(),
  /** The beginning of the message, the payload or the task. */
  text: z.string(),
});
export type WhyLink = z.infer<typeof whyLinkSchema>;
