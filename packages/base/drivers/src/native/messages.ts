/**
 * The messages of a conversation, as they are remembered and as the model library accepts them: a JSON-safe subset of
 * its message type.
 */

import { imageTypes } from "@aegis/contract/message.ts";
import { z } from "zod";
import type { PromptImage } from "../driver.ts";

/** Data that a vendor needs back unchanged, such as the signature of a thought. */
const vendorSchema = z.record(z.string(), z.record(z.string(), z.json())).exactOptional();

const textPartSchema = z.object({ type: z.literal("text"), text: z.string(), providerOptions: vendorSchema });
const reasoningPartSchema = z.object({ type: z.literal("reasoning"), text: z.string(), providerOptions: vendorSchema });
const toolCallPartSchema = z.object({
  type: z.literal("tool-call"),
  toolCallId: z.string(),
  toolName: z.string(),
  input: z.unknown(),
  providerOptions: vendorSchema,
});
const toolResultPartSchema = z.object({
  type: z.literal("tool-result"),
  toolCallId: z.string(),
  toolName: z.string(),
  output: z.object({ type: z.enum(["text", "error-text"]), value: z.string() }),
});

/** An image stays a file; the memory contains its path. */
const imageSchema = z.object({ path: z.string(), media_type: z.enum(imageTypes) });

export const messageSchema = z.discriminatedUnion("role", [
  z.object({ role: z.literal("user"), content: z.string(), images: z.array(imageSchema).exactOptional() }),
  z.object({
    role: z.literal("assistant"),
    content: z.array(z.discriminatedUnion("type", [textPartSchema, reasoningPartSchema, toolCallPartSchema])),
  }),
  z.object({ role: z.literal("tool"), content: z.array(toolResultPartSchema) }),
]);

export type NativeMessage = z.infer<typeof messageSchema>;
export type UserMessage = Extract<NativeMessage, { role: "user" }>;
export type AssistantMessage = Extract<NativeMessage, { role: "assistant" }>;
export type AssistantPart = AssistantMessage["content"][number];
export type ToolCallPart = z.infer<typeof toolCallPartSchema>;
export type ToolResultPart = z.infer<typeof toolResultPartSchema>;

export function userMessage(text: string, images: readonly PromptImage[] = []): UserMessage {
  return { role: "user", content: text, ...(images.length === 0 ? {} : { images: [...images] }) };
}

export function toolMessage(
  call: { id: string; name: string },
  result: { output: string; is_error: boolean },
): Extract<NativeMessage, { role: "tool" }> {
  const output = { type: result.is_error ? ("error-text" as const) : ("text" as const), value: result.output };
  return { role: "tool", content: [{ type: "tool-result", toolCallId: call.id, toolName: call.name, output }] };
}

export function toolCalls(message: NativeMessage): ToolCallPart[] {
  return message.role === "assistant" ? message.content.filter((part) => part.type === "tool-call") : [];
}

/** A rough estimate, four characters per token, for messages that no model has counted yet. */
export function estimateTokens(messages: readonly NativeMessage[]): number {
  let characters = 0;
  for (const message of messages)
    characters += typeof message.content === "string" ? message.content.length : JSON.stringify(message.content).length;
  return Math.ceil(characters / 4);
}
