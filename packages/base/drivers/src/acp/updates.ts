/**
 * Schemas of the session updates that Aegis understands. Tolerant: agents add fields, and a field of the wrong type is
 * dropped.
 */
import { z } from "zod";

const text = z.string().nullish().catch(null);
const meta = z.record(z.string(), z.unknown()).nullish().catch(null);

const contentBlockSchema = z.looseObject({ type: z.string(), text: z.string().optional() });
export type ContentBlock = z.infer<typeof contentBlockSchema>;

const toolContentSchema = z.union([
  z.object({ type: z.literal("content"), content: contentBlockSchema }),
  z.object({
    type: z.literal("diff"),
    path: z.string(),
    oldText: z.string().nullish(),
    newText: z.string(),
  }),
  z.looseObject({ type: z.string() }),
]);
export type ToolContent = z.infer<typeof toolContentSchema>;

/** A tool call as calls, updates and permission requests contain it: every field but the id is optional. */
const toolCallSchema = z.object({
  toolCallId: z.string(),
  title: text,
  name: text,
  kind: text,
  status: text,
  content: z.array(toolContentSchema).nullish().catch(null),
  locations: z
    .array(z.object({ path: z.string(), line: z.number().nullish().catch(null) }))
    .nullish()
    .catch(null),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: meta,
});
export type ToolCallPatch = z.infer<typeof toolCallSchema>;

const chunk = { content: contentBlockSchema, messageId: text, _meta: meta };

const configOptionSchema = z.looseObject({
  id: z.string(),
  category: text,
  currentValue: z.unknown().optional(),
  options: z.array(z.unknown()).optional().catch(undefined),
});
export type ConfigOption = z.infer<typeof configOptionSchema>;
export const configOptionsSchema = z.array(configOptionSchema).nullish().catch(null);

export const updateSchema = z.discriminatedUnion("sessionUpdate", [
  z.object({ sessionUpdate: z.literal("agent_message_chunk"), ...chunk }),
  z.object({ sessionUpdate: z.literal("agent_thought_chunk"), ...chunk }),
  z.object({ sessionUpdate: z.literal("user_message_chunk") }),
  toolCallSchema.extend({ sessionUpdate: z.literal("tool_call") }),
  toolCallSchema.extend({ sessionUpdate: z.literal("tool_call_update") }),
  z.object({
    sessionUpdate: z.literal("plan"),
    entries: z.array(
      z.object({ content: z.string(), status: z.enum(["pending", "in_progress", "completed"]).catch("pending") }),
    ),
  }),
  z.object({
    sessionUpdate: z.literal("usage_update"),
    used: z.number(),
    size: z.number().nullish().catch(null),
    cost: z.object({ amount: z.number(), currency: z.string() }).nullish().catch(null),
  }),
  z.object({ sessionUpdate: z.literal("current_mode_update"), currentModeId: z.string() }),
  z.object({ sessionUpdate: z.literal("config_option_update"), configOptions: configOptionsSchema }),
  z.object({ sessionUpdate: z.literal("available_commands_update") }),
  z.object({ sessionUpdate: z.literal("session_info_update"), title: text }),
  z.object({
    sessionUpdate: z.literal("notice"),
    severity: z.string(),
    title: z.string(),
    description: text,
  }),
  z.object({
    sessionUpdate: z.literal("compaction_update"),
    compactionId: z.string(),
    status: z.string(),
    summary: z.array(contentBlockSchema).nullish().catch(null),
  }),
  z.object({
    sessionUpdate: z.literal("compaction_summary_chunk"),
    compactionId: z.string(),
    content: contentBlockSchema,
  }),
]);
export type Update = z.infer<typeof updateSchema>;

export const permissionRequestSchema = z.object({
  toolCall: toolCallSchema,
  options: z.array(z.object({ optionId: z.string(), kind: z.string() })),
});
export type AcpPermissionRequest = z.infer<typeof permissionRequestSchema>;
