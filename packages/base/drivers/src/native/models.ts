/** Resolves a model id `provider/model` to its API, address and key. */
import { qualifiedModel } from "@aegis/contract/model-names.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { type Costs, DriverError } from "../driver.ts";

type ModelApi = "openai-chat" | "openai-responses" | "anthropic" | "google";

/** One entry of `models` in the project file. It adds a provider or changes a built-in one. */
type ModelSetting = {
  base_url?: string | undefined;
  api?: ModelApi | undefined;
  /** The name of the environment variable that holds the key; never the key. */
  key_env?: string | undefined;
};

/** Provider name → how to reach it. */
export type ModelSettings = Readonly<Record<string, ModelSetting>>;

type Environment = Readonly<Record<string, string | undefined>>;

export type Provider = {
  name: string;
  api: ModelApi;
  baseUrl: string;
  /** Environment variables that may hold the key, in order of preference. Empty if no key is needed. */
  keyNames: readonly string[];
  /** Whether its calls report their cost: `nothing` on the user's own machine. */
  costs: Exclude<Costs, "sometimes">;
};

/** Everything one model call needs to know about its target. `key` must never be logged. */
export type ModelTarget = Pick<Provider, "costs"> & {
  provider: string;
  model: string;
  api: ModelApi;
  baseUrl: string;
  key: string | null;
  keyName: string | null;
};

type Builtin = Omit<Provider, "name" | "costs"> & {
  /** `untold` when absent. */
  costs?: Provider["costs"];
  /** Environment variables that override the address, with the names that the vendors' own tools use. */
  urlNames?: readonly string[];
};

const builtins: Readonly<Record<string, Builtin>> = {
  anthropic: {
    api: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    keyNames: ["ANTHROPIC_API_KEY"],
    urlNames: ["ANTHROPIC_BASE_URL"],
  },
  openai: {
    api: "openai-responses",
    baseUrl: "https://api.openai.com/v1",
    keyNames: ["OPENAI_API_KEY"],
    urlNames: ["OPENAI_BASE_URL"],
  },
  google: {
    api: "google",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    keyNames: ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
    urlNames: ["GOOGLE_GEMINI_BASE_URL", "GOOGLE_BASE_URL"],
  },
  openrouter: {
    api: "openai-chat",
    baseUrl: "https://openrouter.ai/api/v1",
    keyNames: ["OPENROUTER_API_KEY"],
    costs: "told",
  },
  ollama: { api: "openai-chat", baseUrl: "http://127.0.0.1:11434/v1", keyNames: [], costs: "nothing" },
  lmstudio: { api: "openai-chat", baseUrl: "http://127.0.0.1:1234/v1", keyNames: [], costs: "nothing" },
  llamacpp: { api: "openai-chat", baseUrl: "http://127.0.0.1:8080/v1", keyNames: [], costs: "nothing" },
  vllm: { api: "openai-chat", baseUrl: "http://127.0.0.1:8000/v1", keyNames: [], costs: "nothing" },
};

/** The version path that is appended to an address if the API needs one and the user gave none. */
const versionPath: Readonly<Record<ModelApi, string | null>> = {
  anthropic: "v1",
  google: "v1beta",
  "openai-chat": null,
  "openai-responses": null,
};

/** Every available provider; the project's override the built-in ones. */
export function providers(settings: ModelSettings, env: Environment): Map<string, Provider> {
  const all = new Map<string, Provider>();
  for (const [name, builtin] of Object.entries(builtins)) all.set(name, fromBuiltin(name, builtin, env));
  for (const [name, setting] of Object.entries(settings)) {
    const base = all.get(name);
    const api = setting.api ?? base?.api ?? "openai-chat";
    const baseUrl = setting.base_url ?? base?.baseUrl;
    if (baseUrl === undefined)
      throw badModel(`models.${name} has no base_url, and "${name}" is not a built-in provider.`, {
        fix: `Set models.${name}.base_url in .aegis.yaml.`,
      });
    const keyNames = setting.key_env !== undefined ? [setting.key_env] : (base?.keyNames ?? []);
    // On another machine it may have a price.
    const isMoved = base?.costs === "nothing" && setting.base_url !== undefined;
    const costs = isMoved ? "untold" : (base?.costs ?? "untold");
    all.set(name, { name, api, baseUrl: versioned(baseUrl, api), keyNames, costs });
  }
  return all;
}

/** A bare name of a known family means its provider's model. Throws a `DriverError` that says how to fix it. */
export function resolveModel(written: string, settings: ModelSettings, env: Environment): ModelTarget {
  const id = qualifiedModel(written);
  const slash = id.indexOf("/");
  const known = providers(settings, env);
  if (slash <= 0 || slash === id.length - 1)
    throw badModel(`"${id}" is not a model id of the form provider/model.`, {
      fix: `Write it as one of: ${[...known.keys()].map((name) => `${name}/…`).join(", ")}.`,
    });
  const name = id.slice(0, slash);
  const provider = known.get(name);
  if (provider === undefined)
    throw badModel(`No model provider "${name}" (in model "${id}")${didYouMean(name, known.keys())}.`, {
      fix: `Use one of ${[...known.keys()].join(", ")}, or declare models.${name} with its base_url in .aegis.yaml.`,
    });
  const keyName = provider.keyNames.find((candidate) => present(env[candidate])) ?? null;
  if (keyName === null && provider.keyNames.length > 0)
    throw new DriverError({
      code: "not_logged_in",
      message: `The model "${id}" needs a key: ${provider.keyNames.join(" or ")} is not set.`,
      fix: `Set ${provider.keyNames[0]} in the environment and start the daemon again.`,
    });
  return {
    provider: name,
    model: id.slice(slash + 1),
    api: provider.api,
    baseUrl: provider.baseUrl,
    costs: provider.costs,
    key: keyName === null ? null : (env[keyName] ?? null),
    keyName,
  };
}

/** Whether calls of a model report their cost; an unreachable model reports nothing. */
export function costsOf(id: string | null, settings: ModelSettings, env: Environment): Costs {
  const full = id === null ? "" : qualifiedModel(id);
  const name = full.slice(0, Math.max(0, full.indexOf("/")));
  try {
    return providers(settings, env).get(name)?.costs ?? "untold";
  } catch (error) {
    if (error instanceof DriverError) return "untold";
    throw error;
  }
}

/** Ollama's own address, without the path of its OpenAI-compatible API. */
export function ollamaUrl(env: Environment): string {
  const given = env.OLLAMA_HOST;
  if (!present(given)) return "http://127.0.0.1:11434";
  const url = new URL(given.includes("://") ? given : `http://${given}`);
  if (url.port === "" && url.protocol === "http:" && !given.includes("://")) url.port = "11434";
  // A server listens on 0.0.0.0, but a client cannot reliably connect to that address.
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  return url.href.replace(/\/+$/, "");
}

function fromBuiltin(name: string, builtin: Builtin, env: Environment): Provider {
  const { api, keyNames, costs = "untold" } = builtin;
  if (name === "ollama") return { name, api, keyNames, costs, baseUrl: `${ollamaUrl(env)}/v1` };
  const moved = builtin.urlNames?.map((variable) => env[variable]).find(present);
  return { name, api, keyNames, costs, baseUrl: moved === undefined ? builtin.baseUrl : versioned(moved, api) };
}

/** Vendors' tools expect these addresses without the version, the model library with it. */
function versioned(baseUrl: string, api: ModelApi): string {
  const clean = baseUrl.replace(/\/+$/, "");
  const version = versionPath[api];
  return version === null || /\/v\d+[a-z0-9]*$/.test(clean) ? clean : `${clean}/${version}`;
}

function present(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== "";
}

function badModel(message: string, more: { fix: string }): DriverError {
  return new DriverError({ code: "bad_model", message, fix: more.fix });
}
