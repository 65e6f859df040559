/** Where a model id `provider/model` leads: which API to speak, at what address, with which key. */
import { didYouMean } from "../../lib/nearest.ts";
import { type Costs, DriverError } from "../driver.ts";

export type ModelApi = "openai-chat" | "openai-responses" | "anthropic" | "google";

/** One entry of `models` in the project file. It adds a provider or changes a built-in one. */
export type ModelSetting = {
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
  /** Names of environment variables that may hold the key, the preferred one first. Empty when none is needed. */
  keyNames: readonly string[];
  /** What its calls cost: `nothing` on one's own machine. */
  costs: Exclude<Costs, "sometimes">;
};

/** Everything one model call needs to know about its target. `key` is never logged. */
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
  /** Environment variables that move the address, as the vendors' own tools name them. */
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

/** The last part of an address when the API wants a version there and the user gave none. */
const versionPath: Readonly<Record<ModelApi, string | null>> = {
  anthropic: "v1",
  google: "v1beta",
  "openai-chat": null,
  "openai-responses": null,
};

/** Every provider that can be named, the project's over the built-in ones. */
export function providers(settings: ModelSettings, env: Environment): Map<string, Provider> {
  const all = new Map<string, Provider>();
  for (const [name, builtin] of Object.entries(builtins)) all.set(name, fromBuiltin(name, builtin, env));
  for (const [name, setting] of Object.entries(settings)) {
    const base = all.get(name);
    const api = setting.api ?? base?.api ?? "openai-chat";
    const baseUrl = setting.base_url ?? base?.baseUrl;
    if (baseUrl === undefined)
      throw badModel(`models.${name} has no base_url, and "${name}" is not a provider Aegis knows by itself.`, {
        fix: `Set models.${name}.base_url in .aegis.yaml.`,
      });
    const keyNames = setting.key_env !== undefined ? [setting.key_env] : (base?.keyNames ?? []);
    // Somewhere else than on this machine it may have a price.
    const isMoved = base?.costs === "nothing" && setting.base_url !== undefined;
    const costs = isMoved ? "untold" : (base?.costs ?? "untold");
    all.set(name, { name, api, baseUrl: versioned(baseUrl, api), keyNames, costs });
  }
  return all;
}

/** Throws `DriverError` (`bad_model`, `not_logged_in`) in words a user can act on. */
export function resolveModel(id: string, settings: ModelSettings, env: Environment): ModelTarget {
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

/** Whether calls of a model come with what they cost; a model that cannot be reached tells nothing. */
export function costsOf(id: string | null, settings: ModelSettings, env: Environment): Costs {
  const name = id?.slice(0, Math.max(0, id.indexOf("/"))) ?? "";
  try {
    return providers(settings, env).get(name)?.costs ?? "untold";
  } catch (error) {
    if (error instanceof DriverError) return "untold";
    throw error;
  }
}

/** Ollama's own address, without the path of its OpenAI-like API. */
export function ollamaUrl(env: Environment): string {
  const given = env.OLLAMA_HOST;
  if (!present(given)) return "http://127.0.0.1:11434";
  const url = new URL(given.includes("://") ? given : `http://${given}`);
  if (url.port === "" && url.protocol === "http:" && !given.includes("://")) url.port = "11434";
  // A server listens on 0.0.0.0; a client cannot count on reaching it there.
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  return url.href.replace(/\/+$/, "");
}

function fromBuiltin(name: string, builtin: Builtin, env: Environment): Provider {
  const { api, keyNames, costs = "untold" } = builtin;
  if (name === "ollama") return { name, api, keyNames, costs, baseUrl: `${ollamaUrl(env)}/v1` };
  const moved = builtin.urlNames?.map((variable) => env[variable]).find(present);
  return { name, api, keyNames, costs, baseUrl: moved === undefined ? builtin.baseUrl : versioned(moved, api) };
}

/** Vendors' tools take these addresses without the version, the model library with it. */
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
