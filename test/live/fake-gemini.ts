/** A fake of Google's Gemini API that does what the prompt says (see `model-script.ts`). */
import type { ServerResponse } from "node:http";
import { type Fake, sendJson, startFake } from "./http-fake.ts";
import { type Spoken, scriptFor } from "./model-script.ts";

type Part = { text?: string; thought?: boolean; functionResponse?: { response?: unknown } };
type Content = { role: string; parts: Part[] };
export type GeminiRequest = {
  model: string;
  contents: Content[];
  systemInstruction?: unknown;
  tools?: { functionDeclarations?: { name: string }[] }[];
};

export type FakeGemini = Fake & { readonly requests: readonly GeminiRequest[] };

export async function startFakeGemini(): Promise<FakeGemini> {
  const requests: GeminiRequest[] = [];
  const fake = await startFake((request, body, response) => {
    const [, model = "", method] = /models\/([^:]+):(\w+)/.exec(request.url ?? "") ?? [];
    if (method === "countTokens") return sendJson(response, 200, { totalTokens: 42 });
    if (method !== "streamGenerateContent")
      return sendJson(response, 404, { error: { code: 404, message: "no such route" } });
    const parsed = { model, ...(JSON.parse(body) as Omit<GeminiRequest, "model">) };
    requests.push(parsed);
    answer(parsed, requests.length, response);
  });
  return { ...fake, requests };
}

/** The names of the tools a request offers. */
export function geminiTools(request: GeminiRequest | undefined): string[] {
  return (request?.tools ?? []).flatMap((tool) => tool.functionDeclarations?.map((one) => one.name) ?? []);
}

function answer(request: GeminiRequest, number: number, response: ServerResponse): void {
  const script = scriptFor(...lastPrompt(request.contents));
  if (script.do === "silent") return;
  if (script.do === "fail") {
    sendJson(response, script.status, { error: { code: script.status, message: "fake failure", status: "FAILED" } });
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
  const send = (parts: unknown[], finishReason?: string) => {
    const candidate = { index: 0, content: { role: "model", parts }, ...(finishReason ? { finishReason } : {}) };
    response.write(
      `data: ${JSON.stringify({ candidates: [candidate], usageMetadata, modelVersion: request.model })}\r\n\r\n`,
    );
  };
  for (const part of partsOf(script, number)) send([part]);
  if (script.do === "hold") return;
  send([{ text: "" }], "STOP");
  response.end();
}

function partsOf(script: Spoken, number: number): unknown[] {
  if (script.do === "tool") {
    const functionCall = { id: `call_${number}`, name: script.name, args: JSON.parse(script.input) as unknown };
    return [{ text: "calling" }, { functionCall, thoughtSignature: "ZmFrZQ==" }];
  }
  const words = script.parts.map((text) => ({ text }));
  return script.do === "think" ? [{ text: `**Idea** ${script.thought}`, thought: true }, ...words] : words;
}

/** What came after the model last spoke. */
function lastPrompt(contents: readonly Content[]): [texts: string[], results: string[]] {
  const from = contents.findLastIndex((content) => content.role === "model") + 1;
  const parts = contents.slice(from).flatMap((content) => content.parts);
  const texts = parts.flatMap((part) => (part.text === undefined || part.thought ? [] : [part.text]));
  const results = parts.flatMap((part) =>
    part.functionResponse ? [JSON.stringify(part.functionResponse.response)] : [],
  );
  return [texts, results];
}
