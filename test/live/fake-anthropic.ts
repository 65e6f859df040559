/** A fake of Anthropic's Messages API that does what the prompt says (see `model-script.ts`). */
import type { ServerResponse } from "node:http";
import { eventStream, type Fake, sendJson, startFake } from "./http-fake.ts";
import { type Spoken, scriptFor } from "./model-script.ts";

type Block = { type: string; text?: string; content?: unknown };
type Message = { role: string; content: string | Block[] };
export type AnthropicRequest = { model: string; system?: unknown; messages: Message[]; tools?: { name: string }[] };

export type FakeAnthropic = Fake & { readonly requests: readonly AnthropicRequest[] };

export async function startFakeAnthropic(): Promise<FakeAnthropic> {
  const requests: AnthropicRequest[] = [];
  const fake = await startFake((request, body, response) => {
    if (request.method !== "POST" || !(request.url ?? "").split("?")[0]?.endsWith("/v1/messages")) {
      sendJson(response, request.method === "HEAD" ? 200 : 404, { type: "error", error: { message: "no such route" } });
      return;
    }
    const parsed = JSON.parse(body) as AnthropicRequest;
    requests.push(parsed);
    answer(parsed, requests.length, response);
  });
  return { ...fake, requests };
}

function answer(request: AnthropicRequest, number: number, response: ServerResponse): void {
  const script = scriptFor(...lastPrompt(request.messages));
  if (script.do === "silent") return;
  if (script.do === "fail") {
    const type = failures[script.status] ?? "api_error";
    sendJson(response, script.status, { type: "error", error: { type, message: "fake failure" } });
    return;
  }
  const id = `msg_fake_${number}`;
  const usage = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 };
  const send = eventStream(response);
  const message = {
    id,
    type: "message",
    role: "assistant",
    model: request.model,
    content: [],
    stop_reason: null,
    usage,
  };
  send("message_start", { message });
  for (const [index, block] of blocksOf(script, number).entries()) {
    send("content_block_start", { index, content_block: block.start });
    for (const delta of block.deltas) send("content_block_delta", { index, delta });
    if (script.do === "hold") return;
    send("content_block_stop", { index });
  }
  const stop_reason = script.do === "tool" ? "tool_use" : "end_turn";
  send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } });
  send("message_stop", {});
  response.end();
}

const failures: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

type StreamedBlock = { start: Record<string, unknown>; deltas: Record<string, unknown>[] };

function blocksOf(script: Spoken, number: number): StreamedBlock[] {
  if (script.do === "tool") {
    const start = { type: "tool_use", id: `toolu_fake_${number}`, name: script.name, input: {} };
    return [text(["calling"]), { start, deltas: [{ type: "input_json_delta", partial_json: script.input }] }];
  }
  if (script.do !== "think") return [text(script.parts)];
  const deltas = [
    { type: "thinking_delta", thinking: script.thought },
    { type: "signature_delta", signature: "ZmFrZQ==" },
  ];
  return [{ start: { type: "thinking", thinking: "", signature: "" }, deltas }, text(script.parts)];
}

function text(parts: readonly string[]): StreamedBlock {
  return { start: { type: "text", text: "" }, deltas: parts.map((part) => ({ type: "text_delta", text: part })) };
}

/** What came after the model last spoke: the CLI adds reminders of its own, which are no prompt. */
function lastPrompt(messages: readonly Message[]): [texts: string[], results: string[]] {
  const texts: string[] = [];
  const results: string[] = [];
  const from = messages.findLastIndex((message) => message.role === "assistant") + 1;
  for (const message of messages.slice(from)) {
    if (message.role !== "user") continue;
    const blocks = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    for (const block of blocks) {
      if (block.type === "tool_result") results.push(resultText(block.content));
      const words = (block.text ?? "").replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, "").trim();
      if (block.type === "text" && words !== "") texts.push(words);
    }
  }
  return [texts, results];
}

function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part: Block) => part.text ?? `[${part.type}]`).join("") : "";
}
