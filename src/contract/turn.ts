/** A turn is one answer of a session to a batch of messages; its items are the same whatever the harness. */
import { z } from "zod";
import { sessionIdSchema, turnIdSchema } from "./schema-ids.ts";

/**
 * `completed` said what it had to say; `cancelled` was interrupted; `failed` broke (see the error); `refused` was
 * declined by the model or blocked; `truncated` hit a limit; `lost` was cut by a crash of the daemon.
 */
export const turnReasonSchema = z.enum(["completed", "cancelled", "failed", "refused", "truncated", "lost"]);
export type TurnReason = z.infer<typeof turnReasonSchema>;

export const turnErrorSchema = z.object({
  /**
   * `not_installed not_logged_in bad_model start died protocol rate_limited overloaded context_overflow
   * tool_loop timeout model blocked restart internal`
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
  /** US dollars, as the harness says or the project's prices come to; null when neither is known. */
  cost: z.number().nullable(),
});
export type Usage = z.infer<typeof usageSchema>;

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

export const locationSchema = z.object({ path: z.string(), line: z.number().int().optional() });
export const diffSchema = z.object({ path: z.string(), before: z.string().nullable(), after: z.string() });

/** The items of a turn, keyed by type. Each is durable but for the deltas, which only stream. */
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
    /** The call of the harness's own subagent this one belongs to. */
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
  /** How full the model's context is. */
  context: z.object({ used: z.number(), size: z.number().nullable() }),
  compaction: z.object({ summary: z.string() }),
  mode: z.object({ mode: z.string().nullable(), model: z.string().nullable() }),
  notice: z.object({ level: z.enum(["info", "warning", "error"]), text: z.string() }),
  /** An event of the harness that Aegis does not know, kept verbatim. */
  raw: z.object({ harness: z.string(), value: z.unknown() }),
  /** What a driver without a memory of its own needs back when the conversation is opened again. */
  memory: z.object({ value: z.unknown() }),
};
export type TurnItems = { [Type in keyof typeof turnItemSchemas]: z.infer<(typeof turnItemSchemas)[Type]> };
export type TurnItemType = keyof TurnItems;
