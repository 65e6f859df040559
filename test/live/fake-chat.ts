/** A fake of OpenAI's chat completions that does what the prompt says (see `model-script.ts`). */
import type { ServerResponse } from "node:http";
import { type Fake, sendJson, startFake } from "./http-fake.ts";
import { type Spoken, scriptFor } from "./model-script.ts";

type Message = { role: string; content: string | { type: string; text?: string }[] | null };
export type ChatRequest = { model: string; messages: Message[]; tools?: { function: { name: string } }[] };

export type FakeChat = Fake & { readonly requests: readonly ChatRequest[] };

export async function startFakeChat(): Promise<FakeChat> {
  const requests: ChatRequest[] = [];
  const fake = await startFake((request, body, response) => {
    if (!(request.url ?? "").endsWith("/chat/completions"))
      return sendJson(response, 404, { error: { message: "no such route" } });
    const parsed = JSON.parse(body) as ChatRequest;
    requests.push(parsed);
    answer(parsed, requests.length, response);
  });
  return { ...fake, requests };
}

/** Everything a request says as its system prompt. */
export function systemOf(request: ChatRequest | undefined): string {
  return (request?.messages ?? [])
    .filter((message) => message.role === "system")
    .map(textOf)
    .join("\n");
}

function answer(request: ChatRequest, number: number, response: ServerResponse): void {
  const script = scriptFor(...lastPrompt(request.messages));
  if (script.do === "silent") return;
  if (script.do === "fail") {
    sendJson(response, script.status, { error: { message: "fake failure", type: "invalid_request_error" } });
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const base = { id: `chat_${number}`, object: "chat.completion.chunk", created: 1, model: request.model };
  const send = (value: object) => response.write(`data: ${JSON.stringify({ ...base, ...value })}\n\n`);
  for (const delta of deltasOf(script, number)) send({ choices: [{ index: 0, delta, finish_reason: null }] });
  if (script.do === "hold") return;
  const finish_reason = script.do === "tool" ? "tool_calls" : "stop";
  send({ choices: [{ index: 0, delta: {}, finish_reason }] });
  const prompt_tokens_details = { cached_tokens: 4 };
  send({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, prompt_tokens_details } });
  response.write("data: [DONE]\n\n");
  response.end();
}

function deltasOf(script: Spoken, number: number): unknown[] {
  const begin = { role: "assistant", content: "" };
  if (script.do === "tool") {
    const call = { name: script.name, arguments: script.input };
    const tool_calls = [{ index: 0, id: `call_${number}`, type: "function", function: call }];
    return [begin, { content: "calling" }, { tool_calls }];
  }
  const words = script.parts.map((content) => ({ content }));
  return script.do === "think" ? [begin, { reasoning_content: script.thought }, ...words] : [begin, ...words];
}

/** What came after the model last spoke. Results of tools that a newer prompt follows are history. */
function lastPrompt(messages: readonly Message[]): [texts: string[], results: string[]] {
  const from = messages.findLastIndex((message) => message.role === "assistant") + 1;
  const recent = messages.slice(from);
  const of = (role: string) => recent.filter((message) => message.role === role).map(textOf);
  // Some CLIs add notes of their own around what the user says.
  const prompts = of("user")
    .map((text) => text.replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, ""))
    .filter((text) => text.trim() !== "");
  return [prompts, recent.at(-1)?.role === "tool" ? of("tool") : []];
}

function textOf(message: Message): string {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part) => part.text ?? "").join("\n");
}
