/** Resolves a plugin's settings: the project's values over the defaults, validated against the plugin's declaration. */
import type { PluginDiagnostic, PluginManifest, PluginSetting } from "@aegis/contract/plugin.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { expandVariables, isKeptSecret, mapTexts, variablesIn } from "@aegis/lib/variables.ts";
import { found } from "./manifest/notes.ts";

export type PluginConfig = {
  /** Includes the value of each variable that an `*_env` key names. */
  config: Record<string, unknown>;
  /** Values that must never be persisted. */
  secrets: string[];
  /** The variables that the plugin named, for the environment of its code. */
  env: Record<string, string>;
  /** Settings that reference variables, as written: with the names and without the values. */
  written: Record<string, unknown>;
  problems: ConfigProblem[];
};

type ConfigProblem = { level: PluginDiagnostic["level"]; key: string; message: string };

/** The settings of the channels that a plugin brings. Aegis reads them, not the plugin. */
export const channelSettings = "channels";

type Values = Readonly<Record<string, unknown>>;

export function resolveConfig(manifest: PluginManifest, written: Values, env: Environment): PluginConfig {
  const { config_schema: schema, default_config: defaults } = manifest;
  const result: PluginConfig = { config: {}, secrets: [], env: {}, written: {}, problems: [] };
  const note = (level: PluginDiagnostic["level"], key: string, message: string) =>
    result.problems.push({ level, key, message });
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(written)) values[key] = expandSetting(key, value, env, result, note);
  const declared = Object.keys(schema);
  const given: Record<string, unknown> = { ...defaults, ...values };
  for (const [key, setting] of Object.entries(schema)) {
    const value = given[key] ?? setting.default;
    if (value === undefined || value === null) {
      if (setting.required) note("error", key, `expected ${expectation(setting)}, found nothing`);
      continue;
    }
    const problem = problemOf(setting, value);
    if (problem === null) given[key] = value;
    else note("error", key, problem);
  }
  for (const key of Object.keys(values)) {
    const isKnown = declared.includes(key) || key in defaults || key === channelSettings;
    if (declared.length > 0 && !isKnown)
      note("warning", key, `the plugin has no such setting${didYouMean(key, [...declared, ...Object.keys(defaults)])}`);
  }
  for (const [key, value] of Object.entries(given)) {
    if (key.endsWith("_env") && typeof value === "string") takeVariable(key, value, env, schema[key], result, note);
    else result.config[key] = value;
    if (schema[key]?.secret === true && typeof value === "string") result.secrets.push(value);
  }
  return result;
}

/** Replaces the variables that a setting references with their values. */
function expandSetting(
  key: string,
  value: unknown,
  env: Environment,
  result: PluginConfig,
  note: (level: PluginDiagnostic["level"], key: string, message: string) => void,
): unknown {
  const names = variablesIn(value);
  if (names.length > 0) result.written[key] = value;
  return mapTexts(value, (text) => {
    const { text: expanded, missing } = expandVariables(text, env);
    for (const name of missing) note("error", key, `the variable ${name} is not set in the daemon's environment`);
    const taken = variablesIn(text).filter(isKeptSecret);
    result.secrets.push(...taken.flatMap((name) => env[name] ?? []));
    return expanded;
  });
}

/** `api_key_env: MY_KEY` becomes the value of `MY_KEY`, under both names. */
function takeVariable(
  key: string,
  variable: string,
  env: Environment,
  setting: PluginSetting | undefined,
  result: PluginConfig,
  note: (level: PluginDiagnostic["level"], key: string, message: string) => void,
): void {
  const value = env[variable];
  if (value === undefined || value === "") {
    const level = setting?.required === true ? "error" : "warning";
    note(level, key, `the variable ${variable} is not set in the daemon's environment`);
    return;
  }
  result.config[key] = value;
  result.config[key.slice(0, -"_env".length)] ??= value;
  result.env[variable] = value;
  result.secrets.push(value);
}

function problemOf(setting: PluginSetting, value: unknown): string | null {
  const isRight = {
    string: typeof value === "string",
    number: typeof value === "number",
    integer: Number.isInteger(value),
    boolean: typeof value === "boolean",
    array: Array.isArray(value),
    object: typeof value === "object" && !Array.isArray(value),
    any: true,
  }[setting.type];
  const isAllowed = setting.enum === null || setting.enum.includes(value);
  return isRight && isAllowed ? null : `expected ${expectation(setting)}, found ${found(value)}`;
}

const words = {
  string: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a map",
  any: "a value",
} as const satisfies Record<PluginSetting["type"], string>;

function expectation({ type, enum: choices, description }: PluginSetting): string {
  const what = choices === null ? words[type] : `one of ${choices.map(String).join(", ")}`;
  return description === "" ? what : `${what} (${description})`;
}
