/** A message is a request in a session's inbox. Every request for work is a message. */
import { z } from "zod";
import { messageIdSchema, sessionIdSchema, turnIdSchema } from "./schema-ids.ts";

const outcome = z.enum(["ok", "error"]);

export const senderSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("human") }),
  z.object({ kind: z.literal("agent"), session: sessionIdSchema, handle: z.string() }),
  /** A null status marks the payload of a task for its worker. */
  z.object({
    kind: z.literal("queue"),
    name: z.string(),
    task: z.string(),
    status: outcome.nullable(),
    /** Whether the check of a completed task passed; absent if it did not complete. */
    verified: z.boolean().optional(),
  }),
  z.object({ kind: z.literal("workflow"), name: z.string(), run: z.string(), status: outcome.nullable() }),
  /** A person, through a channel. */
  z.object({ kind: z.literal("channel"), name: z.string() }),
  /** A program that works for the user, such as another agent application. Its text is a model's, not the user's. */
  z.object({ kind: z.literal("client"), name: z.string() }),
  z.object({ kind: z.literal("webhook"), name: z.string() }),
  z.object({ kind: z.literal("schedule"), name: z.string() }),
  z.object({ kind: z.literal("group"), group: z.string(), broadcast: z.string() }),
  z.object({ kind: z.literal("substrate") }),
]);
export type Sender = z.infer<typeof senderSchema>;

/**
 * `pending` waits for a turn, `dispatched` is in a turn, `done` was answered, `cancelled` was withdrawn before its
 * turn, `lost` was in a turn that a crash interrupted and could not be sent again, `refused` was sent to a closed
 * session.
 */
export const messageStatusSchema = z.enum(["pending", "dispatched", "done", "cancelled", "lost", "refused"]);
export type MessageStatus = z.infer<typeof messageStatusSchema>;

export const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

/** An image attached to a message. Its bytes are a file in the state folder, addressed by hash. */
export const attachmentSchema = z.object({
  kind: z.literal("image"),
  /** The name that the sender gave it. */
  name: z.string(),
  media_type: z.enum(imageTypes),
  bytes: z.int(),
  sha256: z.string(),
});
export type Attachment = z.infer<typeof attachmentSchema>;

export const messageSchema = z.object({
  id: messageIdSchema,
  session: sessionIdSchema,
  sender: senderSchema,
  /** The text that the agent receives. */
  body: z.string(),
  /** The original text, if `message_received` hooks changed it; otherwise null. */
  sent: z.string().nullable().default(null),
  attachments: z.array(attachmentSchema).default([]),
  status: messageStatusSchema,
  /** The first message of the causal chain that this message belongs to. */
  chain: messageIdSchema,
  hops: z.int(),
  admitted_at: z.number(),
  turn: turnIdSchema.nullable(),
});
export type Message = z.infer<typeof messageSchema>;

/** What the sender receives immediately. */
export const receiptSchema = z.object({
  message: messageIdSchema,
  session: sessionIdSchema,
  handle: z.string(),
  outcome: z.enum(["landed", "queued", "interrupted", "steered"]),
  /** Position in the inbox if queued, otherwise 0. */
  position: z.int(),
  /** True if a message with this id was admitted before; nothing was added. */
  duplicate: z.boolean(),
  /** The receipt as one line. */
  text: z.string(),
});
export type Receipt = z.infer<typeof receiptSchema>;

export const messageMaxBytes = 8 * 1024 * 1024;
/** The limit of the model providers. */
export const imageMaxBytes = 5 * 1024 * 1024;
/** Per message: more would not fit into one model request. */
export const imagesMaxBytes = 8 * 1024 * 1024;
export const imagesMaxCount = 8;
export const defaultMaxHops = 20;
export const defaultPerMinute = 120;
