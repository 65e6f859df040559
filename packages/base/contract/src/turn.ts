/** A turn is one answer of a session to a batch of messages. Its items are the same for every harness. */
import { z } from "zod";
import { sessionIdSchema, turnIdSchema } from "./schema-ids.ts";

/**
 * `completed`: the answer is complete. `cancelled`: interrupted. `failed`: see the error. `refused`: declined by the
 * model or blocked. `truncated`: hit a limit. `lost`: interrupted by a crash of the daemon.
 */
export const turnReasonSchema = z.enum(["completed", "cancelled", "failed", "refused", "truncated", "lost"]);
export type TurnReason = z.infer<typeof turnReasonSchema>;

export const turnErrorSchema = z.object({
  /**
   * `not_installed not_logged_in bad_model start died protocol rate_limited overloaded context_overflow
   * tool_loop timeout model blocked restart sandbox_unavailable internal`
   */
  code: z.string(),
  message: z.string(),
  fix: z.string().optional(),
  /** The last lines the harness wrote to stderr. */
  stderr: z.string().optional(),
});
export type TurnError = z.infer<typeof turnErrorSchema>;

export const usageSchema = z.object({
  input: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
  output: z.number(),
  /** US dollars, reported by the harness or computed from the project's prices; null if both are unknown. */
  cost: z.number().nullable(),
  /** The model, added by Aegis. Absent in data of older versions; null if it is unknown. */
  model: z.string().nullable().optional(),
});
export type Usage = z.infer<typeof usageSchema>;

/** The total usage of several turns. `cost` is the sum of the known costs; null if none is known. */
export const usageTotalSchema = usageSchema.omit({ model: true }).extend({
  /** Turns that recorded their usage. */
  turns: z.int(),
  /** The number of these turns with unknown cost. */
  cost_unknown: z.int(),
});
export type UsageTotal = z.infer<typeof usageTotalSchema>;

export const turnSchema = z.object({
  id: turnIdSchema,
  session: sessionIdSchema,
  started_at: z.number(),
  ended_at: z.number().nullable(),
  reason: turnReasonSchema.nullable(),
  error: turnErrorSchema.nullable(),
  /** The whole last assistant message. */
  text: z.string(),
  usage: usageSchema.nullable(),
});
export type Turn = z.infer<typeof turnSchema>;

export const toolKindSchema = z.enum(["read", "edit", "execute", "search", "fetch", "think", "other"]);
export type ToolKind = z.infer<typeof toolKindSchema>;

export const locationSchema = z.object({ path: z.string(), line: z.int().optional() });
export const diffSchema = z.object({ path: z.string(), before: z.string().nullable(), after: z.string() });

/** The items of a turn, by type. All are durable except deltas, which are only streamed. */
export const turnItemSchemas = {
  text: z.object({ message: z.string(), text: z.string() }),
  thinking: z.object({ message: z.string(), text: z.string() }),
  tool_call: z.object({
    call: z.string(),
    name: z.string(),
    kind: toolKindSchema,
    title: z.string(),
    input: z.unknown(),
    locations: z.array(locationSchema),
    diff: diffSchema.nullable(),
    /** The call of the harness's own subagent that this call belongs to. */
    parent: z.string().nullable(),
  }),
  tool_result: z.object({
    call: z.string(),
    output: z.string(),
    is_error: z.boolean(),
    diff: diffSchema.nullable(),
  }),
  plan: z.object({
    entries: z.array(z.object({ text: z.string(), status: z.enum(["pending", "in_progress", "completed"]) })),
  }),
  usage: usageSchema,
  /** The fill level of the model's context. */
  context: z.object({ used: z.number(), size: z.number().nullable() }),
  compaction: z.object({ summary: z.string() }),
  mode: z.object({ mode: z.string().nullable(), model: z.string().nullable() }),
  notice: z.object({ level: z.enum(["info", "warning", "error"]), text: z.string() }),
  /** An event of the harness that Aegis does not know, kept unchanged. */
  raw: z.object({ harness: z.string(), value: z.unknown() }),
  /** What a driver without its own memory needs to resume the conversation. */
  memory: z.object({ value: z.unknown() }),
};
export type TurnItems = { [Type in keyof typeof turnItemSchemas]: z.infer<(typeof turnItemSchemas)[Type]> };
export type TurnItemType = keyof TurnItems;
