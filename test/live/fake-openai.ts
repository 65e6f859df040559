/** A fake of OpenAI's Responses API that does what the prompt says (see `model-script.ts`). */
import type { ServerResponse } from "node:http";
import { eventStream, type Fake, sendJson, startFake } from "./http-fake.ts";
import { type Spoken, scriptFor } from "./model-script.ts";

type Item = { type: string; role?: string; content?: string | { text?: string }[]; output?: unknown };
export type OpenAiRequest = { model: string; input: Item[]; tools?: { name?: string; type: string }[] };

export type FakeOpenAi = Fake & { readonly requests: readonly OpenAiRequest[] };

export async function startFakeOpenAi(): Promise<FakeOpenAi> {
  const requests: OpenAiRequest[] = [];
  const fake = await startFake((request, body, response) => {
    if (request.method !== "POST" || !(request.url ?? "").endsWith("/responses")) {
      sendJson(response, 404, { error: { message: "no such route" } });
      return;
    }
    const parsed = JSON.parse(body) as OpenAiRequest;
    requests.push(parsed);
    answer(parsed, requests.length, response);
  });
  return { ...fake, url: `${fake.url}/v1`, requests };
}

function answer(request: OpenAiRequest, number: number, response: ServerResponse): void {
  const script = scriptFor(...lastPrompt(request.input));
  if (script.do === "silent") return;
  if (script.do === "fail") {
    sendJson(response, script.status, { error: { message: "fake failure", type: "fake", code: null } });
    return;
  }
  const write = eventStream(response);
  let sequence = 0;
  const send = (type: string, data: Record<string, unknown>) => {
    write(type, { sequence_number: sequence, ...data });
    sequence += 1;
  };
  const head = { id: `resp_${number}`, object: "response", model: request.model, status: "in_progress", output: [] };
  send("response.created", { response: head });
  const output: Record<string, unknown>[] = [];
  for (const [index, item] of itemsOf(script, number).entries()) {
    item.stream(send, index);
    if (script.do === "hold") return;
    send("response.output_item.done", { output_index: index, item: item.whole });
    output.push(item.whole);
  }
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 2 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 1 },
    total_tokens: 15,
  };
  send("response.completed", { response: { ...head, status: "completed", output, usage } });
  response.end();
}

type Send = (type: string, data: Record<string, unknown>) => void;
type Streamed = { whole: Record<string, unknown>; stream(send: Send, index: number): void };

function itemsOf(script: Spoken, number: number): Streamed[] {
  if (script.do === "tool") return [call(script.name, script.input, number)];
  if (script.do === "think") return [thought(script.thought, number), message(script.parts, number)];
  return [message(script.parts, number)];
}

function message(parts: readonly string[], number: number): Streamed {
  const id = `msg_${number}`;
  const base = { type: "message", id, role: "assistant" };
  const content = [{ type: "output_text", text: parts.join(""), annotations: [] }];
  return {
    whole: { ...base, status: "completed", content },
    stream(send, index) {
      send("response.output_item.added", {
        output_index: index,
        item: { ...base, status: "in_progress", content: [] },
      });
      for (const delta of parts) {
        send("response.output_text.delta", { item_id: id, output_index: index, content_index: 0, delta });
      }
    },
  };
}

function thought(text: string, number: number): Streamed {
  const id = `rs_${number}`;
  return {
    whole: { type: "reasoning", id, summary: [{ type: "summary_text", text }], encrypted_content: "ZmFrZQ==" },
    stream(send, index) {
      send("response.output_item.added", { output_index: index, item: { type: "reasoning", id, summary: [] } });
      const at = { item_id: id, output_index: index, summary_index: 0 };
      send("response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } });
      send("response.reasoning_summary_text.delta", { ...at, delta: text });
    },
  };
}

/** `namespace/name` is a tool of an MCP server; `custom:name` takes its input as plain text. */
function call(name: string, input: string, number: number): Streamed {
  const base = { id: `fc_${number}`, call_id: `call_${number}`, status: "completed" };
  const [namespace, tool] = name.includes("/") ? name.split("/") : [undefined, name];
  const whole = name.startsWith("custom:")
    ? { ...base, type: "custom_tool_call", name: name.slice(7), input: (JSON.parse(input) as { text: string }).text }
    : {
        ...base,
        type: "function_call",
        name: tool,
        arguments: input,
        ...(namespace === undefined ? {} : { namespace }),
      };
  return {
    whole,
    stream(send, index) {
      send("response.output_item.added", { output_index: index, item: { ...whole, status: "in_progress" } });
    },
  };
}

/** What came after the model last spoke: Codex adds context of its own, which is no prompt. */
function lastPrompt(input: readonly Item[]): [texts: string[], results: string[]] {
  const isModel = (item: Item) =>
    item.role === "assistant" || ["function_call", "custom_tool_call", "reasoning"].includes(item.type);
  const texts: string[] = [];
  const results: string[] = [];
  for (const item of input.slice(input.findLastIndex(isModel) + 1)) {
    if (item.type.endsWith("_output")) {
      results.push(typeof item.output === "string" ? item.output : JSON.stringify(item.output));
    }
    if (item.type !== "message" || item.role !== "user") continue;
    const text =
      typeof item.content === "string" ? item.content : (item.content ?? []).map((part) => part.text ?? "").join("\n");
    if (!text.startsWith("<") && !text.startsWith("# AGENTS")) texts.push(text);
  }
  return [texts, results];
}
