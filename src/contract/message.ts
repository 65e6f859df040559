/** A message is a request put into a session's inbox. Every request for work is one. */
import { z } from "zod";
import { messageIdSchema, sessionIdSchema, turnIdSchema } from "./schema-ids.ts";

const outcome = z.enum(["ok", "error"]);

export const senderSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("human") }),
  z.object({ kind: z.literal("agent"), session: sessionIdSchema, handle: z.string() }),
  /** Without a status it is the payload of a task, on its way to the worker. */
  z.object({ kind: z.literal("queue"), name: z.string(), task: z.string(), status: outcome.nullable() }),
  z.object({ kind: z.literal("workflow"), name: z.string(), run: z.string(), status: outcome.nullable() }),
  z.object({ kind: z.literal("telegram") }),
  z.object({ kind: z.literal("schedule"), name: z.string() }),
  z.object({ kind: z.literal("group"), group: z.string(), broadcast: z.string() }),
  z.object({ kind: z.literal("substrate") }),
]);
export type Sender = z.infer<typeof senderSchema>;

/**
 * `pending` waits for a turn, `dispatched` is in one, `done` was answered, `cancelled` was taken back before its
 * turn, `lost` was in a turn that a crash cut and could not be sent again, `refused` met a closed session.
 */
export const messageStatusSchema = z.enum(["pending", "dispatched", "done", "cancelled", "lost", "refused"]);
export type MessageStatus = z.infer<typeof messageStatusSchema>;

export const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

/** A picture that goes along with a message. Its bytes are a file of the state folder, found by their hash. */
export const attachmentSchema = z.object({
  kind: z.literal("image"),
  /** What the sender called it. */
  name: z.string(),
  media_type: z.enum(imageTypes),
  bytes: z.number().int(),
  sha256: z.string(),
});
export type Attachment = z.infer<typeof attachmentSchema>;

export const messageSchema = z.object({
  id: messageIdSchema,
  session: sessionIdSchema,
  sender: senderSchema,
  body: z.string(),
  attachments: z.array(attachmentSchema).default([]),
  status: messageStatusSchema,
  /** The first message of the chain of causes this one belongs to. */
  chain: messageIdSchema,
  hops: z.number().int(),
  admitted_at: z.number(),
  turn: turnIdSchema.nullable(),
});
export type Message = z.infer<typeof messageSchema>;

/** What the sender is told at once. */
export const receiptSchema = z.object({
  message: messageIdSchema,
  session: sessionIdSchema,
  handle: z.string(),
  outcome: z.enum(["landed", "queued", "interrupted", "steered"]),
  /** Place in the inbox when queued, else 0. */
  position: z.number().int(),
  /** True when this id had been admitted before: nothing was added. */
  duplicate: z.boolean(),
  /** The receipt as one line. */
  text: z.string(),
});
export type Receipt = z.infer<typeof receiptSchema>;

export const messageMaxBytes = 8 * 1024 * 1024;
/** What model providers take. */
export const imageMaxBytes = 5 * 1024 * 1024;
/** Of one message: more would not fit into one request. */
export const imagesMaxBytes = 8 * 1024 * 1024;
export const imagesMaxCount = 8;
export const defaultMaxHops = 20;
export const defaultPerMinute = 120;
