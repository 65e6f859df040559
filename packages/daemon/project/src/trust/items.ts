/**
 * Lists everything in a project's files that could run code or receive a secret. This list is the complete scope of
 * trust: text that agents only read, such as prompts and skills, is not in it. `config/effects.ts` assigns each
 * configuration key to one of these items.
 */
import { stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { AgentProfile } from "@aegis/contract/agent.ts";
import { capabilitiesOf, capabilityLines } from "@aegis/installer/plugin/capabilities.ts";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import { findPlugins } from "@aegis/plugins/find.ts";
import { bareManifest } from "@aegis/plugins/manifest.ts";
import { bytesPart, keyParts } from "@aegis/plugins/trust/parts.ts";
import { pluginHash, pluginParts, type TrustItem, valueHash } from "@aegis/plugins/trust/trust.ts";
import { type CommandFile, findCommandFiles } from "@aegis/skills/commands/files.ts";
import { scheduleFile } from "../config/changes.ts";
import type { Config } from "../config/config.ts";
import { agentItem, agentKey } from "./agent-item.ts";
import { bytesHash, type Contents } from "./contents.ts";
import { type HarnessItem, harnessItems } from "./harness-files.ts";
import { type SettingItem, settingItems } from "./setting-items.ts";

export type ProjectItems = {
  /** Keyed by `agentKey`. */
  agents: Map<string, TrustItem>;
  /** Keyed by provider name. */
  models: Map<string, TrustItem>;
  schedules: Map<string, TrustItem>;
  settings: SettingItem[];
  harnesses: HarnessItem[];
};

/** The folders of command pages in a project and in the user's home, in order of precedence. */
export const commandFolders: readonly string[] = [".aegis/commands", ".claude/commands"];

export async function projectItems(
  root: string,
  config: Config,
  agents: readonly AgentProfile[],
  contents: Contents,
): Promise<ProjectItems> {
  const items: ProjectItems = {
    agents: new Map(),
    models: new Map(),
    schedules: new Map(),
    settings: settingItems(root, config),
    harnesses: await harnessItems(root, contents),
  };
  for (const agent of agents) {
    const item = await agentItem(root, agent, contents);
    if (item !== null) items.agents.set(agentKey(agent), item);
  }
  for (const [name, entry] of Object.entries(config.models)) items.models.set(name, modelItem(name, entry));
  for (const [name, entry] of Object.entries(config.schedules))
    items.schedules.set(name, await scheduleItem(root, name, entry));
  return items;
}

/** In display order. */
export function allOf({ agents, models, schedules, settings, harnesses }: ProjectItems): TrustItem[] {
  return [
    ...agents.values(),
    ...models.values(),
    ...schedules.values(),
    ...settings.map(({ item }) => item),
    ...harnesses.map(({ item }) => item),
  ];
}

export function modelItem(name: string, entry: Config["models"][string]): TrustItem {
  const what = `sends requests to ${entry.base_url ?? "its usual address"} with the key in ${entry.key_env ?? "its usual variable"}`;
  return {
    kind: "model",
    name,
    what,
    hash: valueHash(entry),
    file: configFileName,
    parts: async () => keyParts(entry),
  };
}

export async function scheduleItem(root: string, name: string, entry: Config["schedules"][string]): Promise<TrustItem> {
  const { enabled: _, ...said } = entry;
  const { workflow, queue, agent, cron, fire_at } = said;
  const task = workflow === undefined ? (queue === undefined ? `asks ${agent}` : `fills ${queue}`) : `runs ${workflow}`;
  const what = `${task} by itself, ${cron ?? fire_at}`;
  // A schedule is declared in its own file or in the project's file, never in both.
  const own = scheduleFile(name);
  const hasOwn = (await stat(join(root, own)).catch(() => null)) !== null;
  const file = hasOwn ? own : configFileName;
  return { kind: "schedule", name, what, hash: valueHash(said), file, parts: async () => keyParts(said) };
}

/**
 * The plugins of the project's folders, each with what it would run. Plugins of the user's own folders need no trust.
 */
export async function pluginItems(root: string, folders: readonly string[]): Promise<TrustItem[]> {
  const items: TrustItem[] = [];
  for (const { name, place, manifest } of await findPlugins(folders.map((folder) => resolve(root, folder)))) {
    // What cannot be read is not loaded, so there is nothing to agree to.
    const plugin = { name, dir: place };
    const hash = await pluginHash(plugin).catch(() => null);
    if (hash === null) continue;
    const isFolder = (await stat(place)).isDirectory();
    const rights = isFolder ? capabilityLines(await capabilitiesOf(place, manifest ?? bareManifest(name))) : [];
    const what = rights.length === 0 ? "its code" : rights.map((line) => line.replace(/ {2,}/, ": ")).join("; ");
    items.push({ kind: "plugin", name, what, hash, file: relative(root, place), parts: () => pluginParts(plugin) });
  }
  return items;
}

/** Commands that people call by name: text for an agent that can make it run programs. */
export async function commandItems(root: string): Promise<TrustItem[]> {
  const found = await Promise.all(commandFolders.map((folder) => findCommandFiles(root, folder)));
  return found.flatMap(({ files }) => files.map(commandItem));
}

export function commandItem({ name, path, bytes }: CommandFile): TrustItem {
  return {
    kind: "command",
    name: path,
    what: `sends its text to an agent as /${name}`,
    hash: bytesHash(bytes),
    file: path,
    parts: async () => ({ [path]: bytesPart(path, bytes) }),
  };
}
