/** A group is a named set of sessions that are asked together: one broadcast goes to each, one result comes back. */
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

/** How many agents one request may add. */
export const groupSpawnMax = 50;
/** Seconds: nobody waits longer than a day. */
export const groupWaitMax = 86_400;
export const defaultGroupTimeout = 600;
export const defaultReducer = "concat";

export const groupSchema = z.object({
  id: groupIdSchema,
  name: z.string(),
  /** What its preset says of waiting; `null` leaves it to the defaults. */
  reducer: z.string().nullable(),
  timeout: z.number().nullable(),
  created_at: z.number(),
  dissolved_at: z.number().nullable(),
});
export type Group = z.infer<typeof groupSchema>;

/** What is asked of every member. All four are told, so that members work to the same end and leave each other alone. */
export const briefSchema = z.object({
  objective: z.string(),
  output_format: z.string(),
  tool_guidance: z.string(),
  boundaries: z.string(),
});
export type Brief = z.infer<typeof briefSchema>;

/** `waiting` still owes its reply; `cancelled` was let off because another member was first. */
export const replyStatusSchema = z.enum(["waiting", "ok", "error", "cancelled"]);
export type ReplyStatus = z.infer<typeof replyStatusSchema>;

export const broadcastMemberSchema = z.object({
  session: sessionIdSchema,
  /** The handle it had when it was asked. */
  handle: z.string(),
  /** The message whose turn is the reply. */
  message: messageIdSchema,
  status: replyStatusSchema,
  /** The turn that took the message, once it has ended. */
  turn: turnIdSchema.nullable(),
  /** Why there is no reply. */
  error: z.string().nullable(),
  /** Place among those that are settled, from 1. */
  arrival: z.number().int().nullable(),
});
export type BroadcastMember = z.infer<typeof broadcastMemberSchema>;

export const broadcastSchema = briefSchema.extend({
  id: broadcastIdSchema,
  group: groupIdSchema,
  /** Who asked. */
  sender: senderSchema,
  created_at: z.number(),
  /** When the last member was settled; open until then. */
  settled_at: z.number().nullable(),
  /** In the order they joined the group. */
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
  /** What holds for a wait that does not say. */
  reducer: z.string(),
  timeout: z.number(),
  /** In the order they joined. */
  members: z.array(groupMemberSchema),
  /** The last broadcast, open or settled. */
  broadcast: broadcastSchema.nullable(),
});
export type GroupView = z.infer<typeof groupViewSchema>;

export const memberReplySchema = z.object({
  handle: z.string(),
  /** The whole last message of the turn that took the broadcast. */
  text: z.string(),
  /** Null when there was no turn. */
  turn_ms: z.number().nullable(),
  /** Null when the harness does not say. */
  tokens_in: z.number().nullable(),
  tokens_out: z.number().nullable(),
  status: replyStatusSchema.exclude(["waiting"]),
});
export type MemberReply = z.infer<typeof memberReplySchema>;

/** By handle; members that still owe a reply are absent. */
export const repliesSchema = z.record(z.string(), memberReplySchema);
export type Replies = z.infer<typeof repliesSchema>;

export const groupResultSchema = z.object({
  broadcast_id: broadcastIdSchema,
  by_member: repliesSchema,
  /** What the reducer made of the good replies. */
  combined: z.unknown(),
  /** Why a member has no good reply, by handle. */
  errors: z.record(z.string(), z.string()),
  /** Who had not replied when the time was over, sorted. They still may. */
  timeouts: z.array(z.string()),
});
export type GroupResult = z.infer<typeof groupResultSchema>;
