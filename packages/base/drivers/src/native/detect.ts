/** Chooses a model for a native agent on this machine if the user named none. */
import type { Probe } from "../driver.ts";
import { type ModelSettings, ollamaUrl, providers } from "./models.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const ollamaTimeoutMs = 300;

/** In order of preference. */
const defaults: ReadonlyArray<{ keys: readonly string[]; model: string }> = [
  { keys: ["ANTHROPIC_API_KEY"], model: "anthropic/claude-sonnet-4-5" },
  { keys: ["OPENAI_API_KEY"], model: "openai/gpt-5.5" },
  { keys: ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"], model: "google/gemini-2.5-pro" },
  { keys: ["OPENROUTER_API_KEY"], model: "openrouter/openrouter/auto" },
];

/** A usable model and why it was chosen; null if there is none. Never throws. */
export async function detectNativeModel(
  env: Environment,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<{ model: string; why: string } | null> {
  for (const { keys, model } of defaults) {
    const key = keys.find((name) => isSet(env[name]));
    if (key !== undefined) return { model, why: `${key} is set` };
  }
  const [first] = (await ollamaModels(env, fetch, signal)) ?? [];
  return first === undefined ? null : { model: `ollama/${first}`, why: `Ollama runs at ${ollamaUrl(env)}` };
}

export async function probeNative(
  env: Environment,
  settings: ModelSettings,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<Probe> {
  const none = { version: null, path: null };
  try {
    const found: string[] = [];
    for (const provider of providers(settings, env).values()) {
      const key = provider.keyNames.find((name) => isSet(env[name]));
      if (key !== undefined) found.push(`${provider.name} (${key})`);
      else if (provider.keyNames.length === 0 && provider.name in settings) found.push(`${provider.name} (no key)`);
    }
    const local = await ollamaModels(env, fetch, signal);
    if (local !== null) found.push(`ollama (${local.length} ${local.length === 1 ? "model" : "models"})`);
    if (found.length > 0) return { ...none, status: "ready", detail: `Models of ${found.join(", ")}`, fix: null };
    return {
      ...none,
      status: "missing",
      detail: "No model provider's key is set, and no Ollama server answers.",
      fix: `Set one of ${defaults.map(({ keys }) => keys[0]).join(", ")}, or start Ollama.`,
    };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { ...none, status: "broken", detail, fix: "Correct `models` in .aegis.yaml." };
  }
}

/** The names of the models, or null if no Ollama server answers in time. */
async function ollamaModels(
  env: Environment,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<string[] | null> {
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ollamaTimeoutMs)]);
    const response = await fetch(`${ollamaUrl(env)}/api/tags`, { signal: limit });
    if (!response.ok) return null;
    const body = (await response.json()) as { models?: { name?: unknown }[] };
    return (body.models ?? []).map((model) => model.name).filter((name) => typeof name === "string");
  } catch {
    return null;
  }
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== "";
}
