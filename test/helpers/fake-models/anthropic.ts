/** Anthropic's Messages API, streaming. */
import { argumentsOf, pieces, type Reply, usageOf, type Wire } from "./wire.ts";

type Block = {
  type: string;
  text?: string;
  name?: string;
  input?: unknown;
  content?: string | { text?: string }[];
};
type Body = {
  system?: string | { text: string }[];
  messages: { role: string; content: string | Block[] }[];
  tools?: { name: string }[];
};

export const anthropicWire: Wire = {
  api: "anthropic",
  events(reply) {
    const usage = usageOf(reply);
    const opening = [
      event("message_start", {
        message: {
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "fake",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: usage.input, output_tokens: 1 },
        },
      }),
    ];
    let index = 0;
    if (reply.thinking !== undefined) {
      opening.push(
        start(index, { type: "thinking", thinking: "", signature: "" }),
        delta(index, { type: "thinking_delta", thinking: reply.thinking }),
        delta(index, { type: "signature_delta", signature: "signed" }),
        event("content_block_stop", { index }),
      );
      index += 1;
    }
    const text: string[] = [];
    const rest: string[] = [];
    if (pieces(reply).length > 0) {
      opening.push(start(index, { type: "text", text: "" }));
      for (const piece of pieces(reply)) text.push(delta(index, { type: "text_delta", text: piece }));
      rest.push(event("content_block_stop", { index }));
      index += 1;
    }
    for (const call of reply.calls ?? []) {
      rest.push(
        start(index, { type: "tool_use", id: call.id, name: call.name, input: {} }),
        delta(index, { type: "input_json_delta", partial_json: argumentsOf(call) }),
        event("content_block_stop", { index }),
      );
      index += 1;
    }
    rest.push(
      event("message_delta", {
        delta: { stop_reason: stopReason(reply), stop_sequence: null },
        usage: { output_tokens: usage.output },
      }),
      event("message_stop", {}),
    );
    return { opening, text, rest };
  },
  refusal: (status, message) => ({ type: "error", error: { type: errorTypes[status] ?? "api_error", message } }),
  read(body) {
    const { system, messages, tools } = body as Body;
    return {
      system: typeof system === "string" ? system : (system ?? []).map((part) => part.text).join("\n"),
      transcript: messages.flatMap(({ role, content }) =>
        typeof content === "string" ? [`${role}: ${content}`] : content.map((block) => line(role, block)),
      ),
      tools: (tools ?? []).map((tool) => tool.name),
    };
  },
};

const errorTypes: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

function line(role: string, block: Block): string {
  if (block.type === "tool_use") return `call: ${block.name} ${JSON.stringify(block.input)}`;
  if (block.type === "tool_result") {
    const { content } = block;
    return `result: ${typeof content === "string" ? content : (content ?? []).map((part) => part.text).join("")}`;
  }
  return `${block.type === "thinking" ? "thinking" : role}: ${block.text ?? ""}`;
}

function stopReason(reply: Reply): string {
  if (reply.finish === "length") return "max_tokens";
  if (reply.finish === "filter") return "refusal";
  return (reply.calls ?? []).length > 0 ? "tool_use" : "end_turn";
}

function start(index: number, content_block: unknown): string {
  return event("content_block_start", { index, content_block });
}

function delta(index: number, change: unknown): string {
  return event("content_block_delta", { index, delta: change });
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
