/** Google's streamGenerateContent API. It knows no ids of tool calls and sends arguments as objects only. */
import { pieces, type Reply, usageOf, type Wire } from "./wire.ts";

type Part = {
  text?: string;
  thought?: boolean;
  functionCall?: { name: string; args: unknown };
  functionResponse?: { response: { content?: unknown; result?: unknown; error?: unknown } };
};
type Body = {
  systemInstruction?: { parts: Part[] };
  contents: { role: string; parts: Part[] }[];
  tools?: { functionDeclarations?: { name: string }[] }[];
};

export const googleWire: Wire = {
  api: "google",
  events(reply) {
    const opening = reply.thinking === undefined ? [] : [data([{ text: reply.thinking, thought: true }])];
    const text = pieces(reply).map((piece) => data([{ text: piece }]));
    const rest = (reply.calls ?? []).map(({ name, input }) => data([{ functionCall: { name, args: input } }]));
    const { input, output } = usageOf(reply);
    const usageMetadata = { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output };
    rest.push(
      `data: ${JSON.stringify({
        candidates: [{ content: { parts: [], role: "model" }, finishReason: finishReason(reply), index: 0 }],
        usageMetadata,
      })}\n\n`,
    );
    return { opening, text, rest };
  },
  refusal: (code, message) => ({ error: { code, message, status: code === 401 ? "UNAUTHENTICATED" : "ERROR" } }),
  read(body) {
    const { systemInstruction, contents, tools } = body as Body;
    return {
      system: (systemInstruction?.parts ?? []).map((part) => part.text).join("\n"),
      transcript: contents.flatMap(({ role, parts }) => parts.map((part) => line(role, part))),
      tools: (tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []).map((tool) => tool.name),
    };
  },
};

function line(role: string, part: Part): string {
  if (part.functionCall !== undefined)
    return `call: ${part.functionCall.name} ${JSON.stringify(part.functionCall.args)}`;
  if (part.functionResponse !== undefined) {
    const { content, result, error } = part.functionResponse.response;
    return `result: ${String(content ?? result ?? error)}`;
  }
  return `${role === "model" ? "assistant" : role}: ${part.text ?? ""}`;
}

function finishReason(reply: Reply): string {
  if (reply.finish === "length") return "MAX_TOKENS";
  return reply.finish === "filter" ? "SAFETY" : "STOP";
}

function data(parts: Part[]): string {
  return `data: ${JSON.stringify({ candidates: [{ content: { parts, role: "model" }, index: 0 }] })}\n\n`;
}
