/** Inputs and outputs of the message routes. */
import { z } from "zod";
import { count, endpoint, messageText, sessionPath, storableText } from "./api-parts.ts";
import { attachmentSchema, messageSchema, messageStatusSchema, receiptSchema } from "./message.ts";
import { messageIdSchema } from "./schema-ids.ts";
import { whyLinkSchema } from "./why.ts";

const messagePath = z.object({ message: messageIdSchema });

export const sendMessageSchema = z.object({
  id: messageIdSchema.optional().describe("chosen by the sender to make the request idempotent"),
  text: messageText,
  mode: z
    .enum(["queue", "steer", "interrupt"])
    .default("queue")
    .describe(
      "steer: join the current turn if the harness supports it; interrupt: end the current turn and deliver immediately",
    ),
  interrupt: z.boolean().default(false).describe("same as mode interrupt"),
  attachments: z
    .array(
      z.object({
        name: storableText.max(255).default("image").describe("a display name"),
        data: z.string().describe("a PNG, JPEG, GIF or WebP image in Base64"),
      }),
    )
    .default([])
    .describe("images that the agent sees with the text"),
});

export const messageEndpoints = {
  sendMessage: endpoint("Put a message into a session's inbox", {
    path: sessionPath,
    body: sendMessageSchema,
    output: z.object({
      receipt: receiptSchema,
      agent_problem: z.string().nullable().describe("why the session of the receipt cannot answer"),
    }),
  }),
  listMessages: endpoint("List the messages of a session, oldest first; page back with `from=newest` and `before`", {
    path: sessionPath,
    query: z.object({
      status: messageStatusSchema.optional(),
      before: messageIdSchema.optional().describe("only messages that were admitted before this one"),
      from: z.enum(["oldest", "newest"]).default("oldest").describe("which end `limit` keeps"),
      limit: count(1000, 100),
    }),
    output: z.object({ messages: z.array(messageSchema) }),
  }),
  getMessage: endpoint("Get one message and its status", {
    path: messagePath,
    output: z.object({ message: messageSchema }),
  }),
  why: endpoint("Get the causes of a message, back to the person or the schedule at the beginning", {
    path: messagePath,
    output: z.object({ links: z.array(whyLinkSchema) }),
  }),
  cancelMessage: endpoint("Cancel a message that is still pending", {
    path: messagePath,
    output: z.object({ message: messageSchema }),
  }),
  getAttachment: endpoint("Get the bytes of an image of a message", {
    path: messagePath.extend({ sha256: z.string().regex(/^[0-9a-f]{64}$/, "expected a SHA-256 hash in hexadecimal") }),
    output: z.object({ attachment: attachmentSchema, data: z.string().describe("Base64") }),
  }),
};
