/** A group is a named set of sessions that receive broadcasts together. Each broadcast has one combined result. */
import { z } from "zod";
import { slugPattern } from "./agent.ts";
import { senderSchema } from "./message.ts";
import { broadcastIdSchema, groupIdSchema, messageIdSchema, sessionIdSchema, turnIdSchema } from "./schema-ids.ts";
import { sessionStateSchema } from "./session.ts";

export const groupNameMaxLength = 64;
export const groupNameSchema = z
  .string()
  .max(groupNameMaxLength)
  .regex(slugPattern, "expected lower-case letters and digits joined by - or _, starting with a letter");

/** The maximum number of agents that one request may add. */
export const groupSpawnMax = 50;
/** In seconds: the maximum wait is one day. */
export const groupWaitMax = 86_400;
export const defaultGroupTimeout = 600;
export const defaultReducer = "concat";

export const groupSchema = z.object({
  id: groupIdSchema,
  name: z.string(),
  /** The wait settings of its preset; `null` uses the defaults. */
  reducer: z.string().nullable(),
  timeout: z.number().nullable(),
  created_at: z.number(),
  dissolved_at: z.number().nullable(),
});
export type Group = z.infer<typeof groupSchema>;

/**
 * The request to every member. Each member receives all four parts, so that the members share a goal and do not
 * interfere.
 */
export const briefSchema = z.object({
  objective: z.string(),
  output_format: z.string(),
  tool_guidance: z.string(),
  boundaries: z.string(),
});
export type Brief = z.infer<typeof briefSchema>;

/**
 * `waiting`: the reply is outstanding. `cancelled`: another member replied first, so this reply is no longer needed.
 */
export const replyStatusSchema = z.enum(["waiting", "ok", "error", "cancelled"]);
export type ReplyStatus = z.infer<typeof replyStatusSchema>;

export const broadcastMemberSchema = z.object({
  session: sessionIdSchema,
  /** The member's handle at the time of the broadcast. */
  handle: z.string(),
  /** The message that the reply answers. */
  message: messageIdSchema,
  status: replyStatusSchema,
  /** The turn that answered the message, once it has ended. */
  turn: turnIdSchema.nullable(),
  /** Why there is no reply. */
  error: z.string().nullable(),
  /** Position among the settled replies, from 1. */
  arrival: z.int().nullable(),
});
export type BroadcastMember = z.infer<typeof broadcastMemberSchema>;

export const broadcastSchema = briefSchema.extend({
  id: broadcastIdSchema,
  group: groupIdSchema,
  /** The sender of the broadcast. */
  sender: senderSchema,
  created_at: z.number(),
  /** When the last reply was settled; null while the broadcast is open. */
  settled_at: z.number().nullable(),
  /** In the order in which they joined the group. */
  members: z.array(broadcastMemberSchema),
});
export type Broadcast = z.infer<typeof broadcastSchema>;

export const groupMemberSchema = z.object({
  session: sessionIdSchema,
  handle: z.string(),
  agent: z.string(),
  state: sessionStateSchema,
});
export type GroupMember = z.infer<typeof groupMemberSchema>;

export const groupViewSchema = groupSchema.extend({
  /** The default for waits that do not set it. */
  reducer: z.string(),
  timeout: z.number(),
  /** In the order in which they joined. */
  members: z.array(groupMemberSchema),
  /** The last broadcast, open or settled. */
  broadcast: broadcastSchema.nullable(),
});
export type GroupView = z.infer<typeof groupViewSchema>;

export const memberReplySchema = z.object({
  handle: z.string(),
  /** The whole last message of the turn that answered the broadcast. */
  text: z.string(),
  /** Null when there was no turn. */
  turn_ms: z.number().nullable(),
  /** Null if the harness does not report it. */
  tokens_in: z.number().nullable(),
  tokens_out: z.number().nullable(),
  status: replyStatusSchema.exclude(["waiting"]),
});
export type MemberReply = z.infer<typeof memberReplySchema>;

/** By handle. Members with an outstanding reply are absent. */
export const repliesSchema = z.record(z.string(), memberReplySchema);
export type Replies = z.infer<typeof repliesSchema>;

export const groupResultSchema = z.object({
  broadcast_id: broadcastIdSchema,
  by_member: repliesSchema,
  /** The reducer's result for the successful replies. */
  combined: z.unknown(),
  /** Why a member has no successful reply, by handle. */
  errors: z.record(z.string(), z.string()),
  /** Handles of the members that had not replied at the timeout, sorted. They may still reply. */
  timeouts: z.array(z.string()),
});
export type GroupResult = z.infer<typeof groupResultSchema>;
