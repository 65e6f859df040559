/** OpenAI's Responses API, streaming. */
import { argumentsOf, pieces, type Reply, usageOf, type Wire } from "./wire.ts";

type Item = {
  type?: string;
  role?: string;
  content?: string | { text?: string }[];
  name?: string;
  arguments?: string;
  output?: unknown;
};
type Body = { instructions?: string; input: Item[]; tools?: { name: string }[] };

export const openaiResponsesWire: Wire = {
  api: "openai-responses",
  events(reply) {
    const opening = [event("response.created", { response: { id: "resp_1", created_at: 1, model: "fake" } })];
    let output_index = 0;
    if (reply.thinking !== undefined) {
      const item = { id: "rs_1", type: "reasoning", encrypted_content: "sealed" };
      const part = { item_id: "rs_1", output_index, summary_index: 0 };
      opening.push(
        event("response.output_item.added", { output_index, item: { ...item, summary: [] } }),
        event("response.reasoning_summary_part.added", { ...part, part: { type: "summary_text", text: "" } }),
        event("response.reasoning_summary_text.delta", { ...part, delta: reply.thinking }),
        event("response.output_item.done", {
          output_index,
          item: { ...item, summary: [{ type: "summary_text", text: reply.thinking }] },
        }),
      );
      output_index += 1;
    }
    const text: string[] = [];
    const rest: string[] = [];
    if (pieces(reply).length > 0) {
      const item = { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] };
      opening.push(event("response.output_item.added", { output_index, item }));
      for (const delta of pieces(reply))
        text.push(event("response.output_text.delta", { item_id: "msg_1", output_index, content_index: 0, delta }));
      rest.push(event("response.output_item.done", { output_index, item: { ...item, status: "completed" } }));
      output_index += 1;
    }
    for (const call of reply.calls ?? []) {
      const item = { id: `fc_${call.id}`, type: "function_call", call_id: call.id, name: call.name };
      const delta = argumentsOf(call);
      rest.push(
        event("response.output_item.added", { output_index, item: { ...item, arguments: "", status: "in_progress" } }),
        event("response.function_call_arguments.delta", { item_id: item.id, output_index, delta }),
        event("response.function_call_arguments.done", { item_id: item.id, output_index, arguments: delta }),
        event("response.output_item.done", { output_index, item: { ...item, arguments: delta, status: "completed" } }),
      );
      output_index += 1;
    }
    rest.push(ending(reply));
    return { opening, text, rest };
  },
  refusal: (status, message) => ({ error: { message, type: "error", code: String(status), param: null } }),
  read(body) {
    const { instructions, input, tools } = body as Body;
    const system = input.filter((item) => item.role === "system" || item.role === "developer").map(textOf);
    return {
      system: [instructions ?? "", ...system].join("\n").trim(),
      transcript: input.filter((item) => item.role !== "system" && item.role !== "developer").map(line),
      tools: (tools ?? []).map((tool) => tool.name),
    };
  },
};

function ending(reply: Reply): string {
  const { input, output } = usageOf(reply);
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  const reason = { length: "max_output_tokens", filter: "content_filter" }[reply.finish as "length" | "filter"];
  if (reason === undefined) return event("response.completed", { response: { usage } });
  return event("response.incomplete", { response: { usage, incomplete_details: { reason } } });
}

function line(item: Item): string {
  if (item.type === "function_call") return `call: ${item.name} ${item.arguments}`;
  if (item.type === "function_call_output") return `result: ${resultOf(String(item.output))}`;
  if (item.type === "reasoning") return "thinking: ";
  return `${item.role}: ${textOf(item)}`;
}

/** Errors come wrapped. */
function resultOf(output: string): string {
  return output.startsWith('{"error":') ? String((JSON.parse(output) as { error: unknown }).error) : output;
}

function textOf(item: Item): string {
  return typeof item.content === "string" ? item.content : (item.content ?? []).map((part) => part.text).join("");
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
