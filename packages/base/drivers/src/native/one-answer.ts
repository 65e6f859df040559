/** One question to a model, outside any conversation. */
import type { Clock } from "@aegis/lib/clock.ts";
import { type ModelSettings, resolveModel } from "./models.ts";
import { openModel } from "./sdk.ts";

export type OneQuestion = { model: string; system: string; prompt: string; maxTokens: number };

export type OneAnswerDeps = {
  env: Readonly<Record<string, string | undefined>>;
  models: ModelSettings;
  clock: Clock;
};

/** The text of the answer. Throws `DriverError` or `ModelFailure` if there is none, or the signal's reason. */
export async function askOnce(question: OneQuestion, deps: OneAnswerDeps, signal: AbortSignal): Promise<string> {
  const model = await openModel(resolveModel(question.model, deps.models, deps.env), deps.clock);
  let text = "";
  const { system, prompt, maxTokens } = question;
  const call = { system, messages: [{ role: "user" as const, content: prompt }], tools: [], maxTokens };
  for await (const part of model.stream({ ...call, temperature: undefined, effort: null, signal }))
    if (part.type === "block" && part.block === "text") text += part.delta;
  return text;
}
