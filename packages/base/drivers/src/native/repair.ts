/**
 * Repairs any remembered sequence of messages so that every model API accepts it. A crash can end the memory anywhere,
 * and a cancelled turn leaves one side without an answer, so this runs before each model call.
 * Afterwards the sequence starts with a user message, no two neighbours have the same role (a tool message counts as
 * the answer to its assistant message), and each tool call has exactly one result directly after it, in the order of
 * the calls.
 */
import {
  type AssistantMessage,
  type NativeMessage,
  type ToolResultPart,
  toolCalls,
  type UserMessage,
  userMessage,
} from "./messages.ts";

export const interruptedResult = "interrupted: outcome unknown";

export function repair(messages: readonly NativeMessage[]): NativeMessage[] {
  const results = collectResults(messages);
  const repaired: NativeMessage[] = [];
  for (const message of messages) {
    if (message.role === "tool") continue;
    if (message.role === "user") addUser(repaired, message);
    else addAssistant(repaired, message, results);
  }
  return repaired;
}

/** The results by call. The first one is kept; a later one would be a second outcome of the same call. */
function collectResults(messages: readonly NativeMessage[]): Map<string, ToolResultPart> {
  const called = new Set<string>();
  const results = new Map<string, ToolResultPart>();
  for (const message of messages) {
    for (const call of toolCalls(message)) called.add(call.toolCallId);
    if (message.role !== "tool") continue;
    for (const part of message.content)
      if (called.has(part.toolCallId) && !results.has(part.toolCallId)) results.set(part.toolCallId, part);
  }
  return results;
}

function addUser(repaired: NativeMessage[], message: UserMessage): void {
  const last = repaired.at(-1);
  if (last?.role !== "user") {
    repaired.push(message);
    return;
  }
  const images = [...(last.images ?? []), ...(message.images ?? [])];
  repaired[repaired.length - 1] = userMessage(`${last.content}\n\n${message.content}`, images);
}

function addAssistant(
  repaired: NativeMessage[],
  message: AssistantMessage,
  results: Map<string, ToolResultPart>,
): void {
  const content = message.content.filter((part) => part.type === "tool-call" || part.text !== "" || hasVendor(part));
  // A message with only thoughts is not an answer, and several APIs reject it.
  if (!content.some((part) => part.type !== "reasoning")) return;
  if (repaired.length === 0) repaired.push({ role: "user", content: "(the beginning of this conversation is lost)" });
  const last = repaired.at(-1);
  const merged: AssistantMessage =
    last?.role === "assistant" ? { ...last, content: [...last.content, ...content] } : { role: "assistant", content };
  if (last?.role === "assistant") repaired[repaired.length - 1] = merged;
  else repaired.push(merged);
  const calls = toolCalls(merged);
  if (calls.length === 0) return;
  const parts = calls.map(
    (call): ToolResultPart =>
      results.get(call.toolCallId) ?? {
        type: "tool-result",
        toolCallId: call.toolCallId,
        toolName: call.toolName,
        output: { type: "error-text", value: interruptedResult },
      },
  );
  repaired.push({ role: "tool", content: parts });
}

function hasVendor(part: { providerOptions?: unknown }): boolean {
  return part.providerOptions !== undefined;
}
