/** What goes into and comes out of the routes about messages. */
import { z } from "zod";
import { count, type Endpoint, messageText, none, sessionPath, storableText } from "./api-parts.ts";
import { messageSchema, messageStatusSchema, receiptSchema } from "./message.ts";
import { messageIdSchema } from "./schema-ids.ts";

const messagePath = z.object({ message: messageIdSchema });

export const sendMessageSchema = z.object({
  id: messageIdSchema.optional().describe("chosen by the sender so that a repeated request adds nothing"),
  text: messageText,
  mode: z
    .enum(["queue", "steer", "interrupt"])
    .default("queue")
    .describe("steer: join the turn under way where the harness can; interrupt: cut it and deliver at once"),
  interrupt: z.boolean().default(false).describe("the same as mode interrupt"),
  attachments: z
    .array(
      z.object({
        name: storableText.max(255).default("image").describe("what people call it"),
        data: z.string().describe("a PNG, JPEG, GIF or WebP image in Base64"),
      }),
    )
    .default([])
    .describe("images that the agent sees with the text"),
});

export const messageEndpoints = {
  sendMessage: {
    summary: "Put a message into a session's inbox",
    path: sessionPath,
    query: none,
    body: sendMessageSchema,
    output: z.object({ receipt: receiptSchema }),
  },
  listMessages: {
    summary: "Messages of a session, oldest first",
    path: sessionPath,
    query: z.object({ status: messageStatusSchema.optional(), limit: count(1000, 100) }),
    body: none,
    output: z.object({ messages: z.array(messageSchema) }),
  },
  getMessage: {
    summary: "One message and what became of it",
    path: messagePath,
    query: none,
    body: none,
    output: z.object({ message: messageSchema }),
  },
  cancelMessage: {
    summary: "Take back a message that no turn has taken yet",
    path: messagePath,
    query: none,
    body: none,
    output: z.object({ message: messageSchema }),
  },
} satisfies Record<string, Endpoint>;
