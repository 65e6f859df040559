/** OpenAI's Chat Completions API, streaming, as most local servers speak it. */
import { argumentsOf, pieces, type Reply, usageOf, type Wire } from "./wire.ts";

type Body = {
  messages: {
    role: string;
    content: string | { text: string }[] | null;
    tool_calls?: { function: { name: string; arguments: string } }[];
  }[];
  tools?: { function: { name: string } }[];
};

export const openaiChatWire: Wire = {
  api: "openai-chat",
  events(reply) {
    const opening = [chunk({ role: "assistant", content: "" })];
    if (reply.thinking !== undefined) opening.push(chunk({ reasoning_content: reply.thinking }));
    const text = pieces(reply).map((piece) => chunk({ content: piece }));
    const rest = (reply.calls ?? []).map((call, index) =>
      chunk({
        tool_calls: [
          { index, id: call.id, type: "function", function: { name: call.name, arguments: argumentsOf(call) } },
        ],
      }),
    );
    const { input, output, ...more } = usageOf(reply);
    rest.push(
      chunk({}, finishReason(reply)),
      data({
        ...envelope,
        choices: [],
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, ...more },
      }),
      "data: [DONE]\n\n",
    );
    return { opening, text, rest };
  },
  refusal: (status, message) => ({ error: { message, type: "error", code: String(status) } }),
  read(body) {
    const { messages, tools } = body as Body;
    const textOf = (content: Body["messages"][number]["content"]) =>
      typeof content === "string" ? content : (content ?? []).map((part) => part.text).join("");
    return {
      system: messages
        .filter((message) => message.role === "system")
        .map((message) => textOf(message.content))
        .join("\n"),
      transcript: messages
        .filter((message) => message.role !== "system")
        .flatMap(({ role, content, tool_calls = [] }) => [
          ...(textOf(content) === "" && role === "assistant"
            ? []
            : [`${role === "tool" ? "result" : role}: ${textOf(content)}`]),
          ...tool_calls.map((call) => `call: ${call.function.name} ${call.function.arguments}`),
        ]),
      tools: (tools ?? []).map((tool) => tool.function.name),
    };
  },
};

const envelope = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "fake" };

function finishReason(reply: Reply): string {
  if (reply.finish === "length") return "length";
  if (reply.finish === "filter") return "content_filter";
  return (reply.calls ?? []).length > 0 ? "tool_calls" : "stop";
}

function chunk(delta: object, finish_reason: string | null = null): string {
  return data({ ...envelope, choices: [{ index: 0, delta, finish_reason }] });
}

function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
