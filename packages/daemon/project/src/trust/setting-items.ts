/** Settings that need trust individually, as marked in `config/effects.ts`. */

import { isAbsolute, resolve } from "node:path";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import { isInside } from "@aegis/lib/files.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { variablesIn } from "@aegis/lib/variables.ts";
import { keyParts, settingPart } from "@aegis/plugins/trust/parts.ts";
import { type TrustItem, valueHash } from "@aegis/plugins/trust/trust.ts";
import { readPath } from "../config/combine.ts";
import type { Config } from "../config/config.ts";
import { configEffects, type Effect, workflowEffects } from "../config/effects.ts";
import { configSchema, isChannelKey } from "../config/schema.ts";

export type SettingItem = {
  item: TrustItem;
  /** `workflow` and `plugin`: the owner of the setting must not run. `value`: the default value applies. */
  holds: { kind: "value"; path: readonly string[] } | { kind: "workflow" | "plugin"; name: string };
};

type Values = Readonly<Record<string, unknown>>;

/** Sections whose entries belong to a workflow or a plugin with that name. */
const owners = { workflows: "workflow", plugins: "plugin" } as const;

export function settingItems(root: string, config: Config): SettingItem[] {
  const found: SettingItem[] = [];
  for (const { path, pattern, mark, value } of marked(configEffects, config, [], "")) {
    const isDefault = valueHash(defaultAt(config, path)) === valueHash(value);
    if (isDefault || !matters(root, pattern, value)) continue;
    // The rights and the producers that receive them are trusted together, and so are all settings of a channel.
    const agreed = isWhole(pattern) ? readPath(config, path.slice(0, -1)) : value;
    const what = pattern === "server.token_file" ? mark.setting : `${mark.setting}: ${shown(agreed)}`;
    found.push({ item: itemOf(path.join("."), what, agreed), holds: { kind: "value", path } });
  }
  for (const [section, kind] of Object.entries(owners)) {
    const marks: Values = section === "plugins" ? configEffects.plugins : {};
    for (const [name, values] of Object.entries((config as Values)[section] ?? {})) {
      if (Object.hasOwn(marks, name) || !isRecord(values)) continue;
      const does = section === "workflows" ? workflowDoes(name, values) : pluginDoes(values);
      if (does.length === 0) continue;
      found.push({ item: itemOf(`${section}.${name}`, does.join("; "), values), holds: { kind, name } });
    }
  }
  return found;
}

/** Returns the configuration with one value reset to its default. */
export function withDefaultAt(config: Config, path: readonly string[]): Config {
  const [section = "", ...below] = path;
  const schema = configSchema.shape[section as keyof typeof configSchema.shape];
  return { ...config, [section]: schema.parse(without((config as Values)[section], below), { jitless: true }) };
}

function defaultAt(config: Config, path: readonly string[]): unknown {
  return readPath(withDefaultAt(config, path), [...path]);
}

function without(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined || !isRecord(value)) return value;
  const { [key]: inner, ...others } = value;
  return rest.length === 0 ? others : { ...others, [key]: without(inner, rest) };
}

type MarkedSetting = { path: readonly string[]; pattern: string; mark: { setting: string }; value: unknown };

/** The existing values that are marked as settings; `*` in a pattern matches any name. */
function* marked(marks: object, values: unknown, path: readonly string[], pattern: string): Generator<MarkedSetting> {
  if (!isRecord(values)) return;
  for (const [key, value] of Object.entries(values)) {
    const known = Object.hasOwn(marks, key) ? key : "*";
    const at = pattern === "" ? known : `${pattern}.${known}`;
    const mark = (marks as Values)[known];
    if (value === undefined || Object.hasOwn(owners, at)) continue;
    if (isSetting(mark)) yield { path: [...path, key], pattern: at, mark, value };
    else if (isRecord(mark)) yield* marked(mark, value, [...path, key], at);
  }
}

/** True if the user agrees to the setting together with its neighbours. */
function isWhole(pattern: string): boolean {
  const [section] = pattern.split(".");
  return pattern === "queues.*.rights" || section === "webhooks" || isChannelKey(section);
}

function itemOf(name: string, what: string, value: unknown): TrustItem {
  const parts = async () => (isRecord(value) ? keyParts(value) : { [`the setting ${name}`]: settingPart(value) });
  return { kind: "settings", name, what, hash: valueHash(value), file: configFileName, parts };
}

function workflowDoes(name: string, values: Values): string[] {
  const known: Readonly<Record<string, Effect>> | undefined = Object.hasOwn(workflowEffects, name)
    ? workflowEffects[name as keyof typeof workflowEffects]
    : undefined;
  if (known === undefined) return pluginDoes(values);
  return Object.entries(values).flatMap(([key, value]) => {
    const mark = Object.hasOwn(known, key) ? known[key] : undefined;
    if (mark === "inert") return [];
    const how = isSetting(mark) ? mark.setting : "sets it";
    return [`${key}: ${shown(value)} (${how})`];
  });
}

/** A plugin can do anything with a text or with the variable that it names. A number cannot run anything. */
function pluginDoes(values: Values): string[] {
  const taken = variablesIn(values);
  return [
    ...Object.entries(values)
      .filter(([, value]) => hasText(value))
      .map(([key, value]) => `sets ${key}: ${looksSecretless(key) ? shown(value) : "…"}`),
    ...(taken.length === 0 ? [] : [`gives it ${taken.join(", ")} of your environment`]),
  ];
}

function looksSecretless(key: string): boolean {
  return !/key|token|secret|password|credential/i.test(key) || key.endsWith("_env");
}

function hasText(value: unknown): boolean {
  if (typeof value === "string") return value !== "";
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, entry]) => (!Array.isArray(value) && key !== "") || hasText(entry));
}

function matters(root: string, pattern: string, value: unknown): boolean {
  if (pattern === "skills.agent_install") return value === "allow";
  if (pattern !== "skills.dirs" || !Array.isArray(value)) return true;
  return value.some((dir) => String(dir).startsWith("~") || isOutside(root, String(dir)));
}

function isOutside(root: string, dir: string): boolean {
  return !isInside(root, isAbsolute(dir) ? dir : resolve(root, dir));
}

const longestShown = 200;

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}… (${text.length} characters)`;
}

function isSetting(mark: unknown): mark is { setting: string } {
  return typeof mark === "object" && mark !== null && "setting" in mark && typeof mark.setting === "string";
}
