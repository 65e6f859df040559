/**
 * Everything a project's files could make run, or could send a secret to. What is written here is the whole extent of
 * the gate: text that is only read by an agent (prompts, skills) is not in it.
 */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { AgentProfile } from "../../contract/agent.ts";
import { configFileName } from "../../lib/daemon-file.ts";
import { containedPath } from "../../lib/files.ts";
import { type CommandFile, findCommandFiles } from "../../runtime/commands/files.ts";
import { findPlugins } from "../../runtime/plugins/find.ts";
import { capabilitiesOf, capabilityLines } from "../../runtime/plugins/install/capabilities.ts";
import { bareManifest } from "../../runtime/plugins/manifest.ts";
import { pluginHash, type TrustItem, valueHash } from "../../runtime/plugins/trust/trust.ts";
import { scheduleFile } from "../config/changes.ts";
import type { Config } from "../config/config.ts";
import { type HarnessItem, harnessItems } from "./harness-files.ts";

export type ProjectItems = {
  /** By `agentKey`. */
  agents: Map<string, TrustItem>;
  /** By the provider's name. */
  models: Map<string, TrustItem>;
  schedules: Map<string, TrustItem>;
  settings: Map<"telegram" | "token_file", TrustItem>;
  harnesses: HarnessItem[];
};

/** Where pages of commands lie, in a project and in the user's own folder; the first ones count more. */
export const commandFolders: readonly string[] = [".aegis/commands", ".claude/commands"];

/** Sources of agents whose files lie in the project. */
const projectSources: readonly string[] = ["config", "project", "claude"];

export function agentKey({ source, slug }: Pick<AgentProfile, "source" | "slug">): string {
  return `${source}/${slug}`;
}

export async function projectItems(
  root: string,
  config: Config,
  agents: readonly AgentProfile[],
): Promise<ProjectItems> {
  const items: ProjectItems = {
    agents: new Map(),
    models: new Map(),
    schedules: new Map(),
    settings: new Map(),
    harnesses: await harnessItems(root),
  };
  for (const agent of agents.filter(({ source }) => projectSources.includes(source))) {
    const item = await agentItem(root, agent);
    if (item !== null) items.agents.set(agentKey(agent), item);
  }
  for (const [name, entry] of Object.entries(config.models)) {
    const what = `sends requests to ${entry.base_url ?? "its usual address"} with the key in ${entry.key_env ?? "its usual variable"}`;
    items.models.set(name, { kind: "model", name, what, hash: valueHash(entry), file: configFileName });
  }
  for (const [name, { enabled: _, ...entry }] of Object.entries(config.schedules)) {
    const { workflow, queue, agent, cron, fire_at } = entry;
    const task =
      workflow === undefined ? (queue === undefined ? `asks ${agent}` : `fills ${queue}`) : `runs ${workflow}`;
    const what = `${task} by itself, ${cron ?? fire_at}`;
    // One of that name is in its own file or in the project's, never in both.
    const own = scheduleFile(name);
    const hasOwn = (await stat(join(root, own)).catch(() => null)) !== null;
    const file = hasOwn ? own : configFileName;
    items.schedules.set(name, { kind: "schedule", name, what, hash: valueHash(entry), file });
  }
  const { telegram, server } = config;
  if (telegram !== undefined)
    items.settings.set("telegram", setting("telegram", "lets a Telegram bot talk to your agents", telegram));
  if (server.token_file !== undefined)
    items.settings.set("token_file", setting("server.token_file", "chooses the daemon's password", server.token_file));
  return items;
}

/** The plugins of the project's folders, each with what it would run. Those of the user's own folders are not asked about. */
export async function pluginItems(root: string, folders: readonly string[]): Promise<TrustItem[]> {
  const items: TrustItem[] = [];
  for (const { name, place, manifest } of await findPlugins(folders.map((folder) => resolve(root, folder)))) {
    const isFolder = (await stat(place)).isDirectory();
    const rights = isFolder ? capabilityLines(await capabilitiesOf(place, manifest ?? bareManifest(name))) : [];
    const what = rights.length === 0 ? "its code" : rights.map((line) => line.replace(/ {2,}/, ": ")).join("; ");
    const hash = await pluginHash({ name, dir: place });
    items.push({ kind: "plugin", name, what, hash, file: relative(root, place) });
  }
  return items;
}

/** Commands people start by name: text for an agent, which may make it run something. */
export async function commandItems(root: string): Promise<TrustItem[]> {
  const found = await Promise.all(commandFolders.map((folder) => findCommandFiles(root, folder)));
  return found.flatMap(({ files }) => files.map(commandItem));
}

export function commandItem({ name, path, bytes }: CommandFile): TrustItem {
  return {
    kind: "command",
    name: path,
    what: `says its text to an agent as /${name}`,
    hash: hashOf(bytes),
    file: path,
  };
}

/** Null for an agent that only asks a harness of this machine, with no more rights than to ask back. */
async function agentItem(root: string, agent: AgentProfile): Promise<TrustItem | null> {
  const { options, env, permission, harness } = agent;
  const does: string[] = [];
  const command = [options.command, options.args]
    .flat()
    .filter((part) => part !== undefined)
    .map(String);
  if (command.length > 0) does.push(`starts ${command.join(" ")}`);
  // The harness's own word for its rights, which may be all of them.
  if (options.mode !== undefined) does.push(`works in the mode ${String(options.mode)}`);
  if (options.playbook !== undefined) does.push(`follows ${String(options.playbook)}`);
  if (options.allow_private_fetch === true) does.push("may fetch from private addresses");
  if (Object.keys(env).length > 0) does.push(`sets ${Object.keys(env).join(", ")} for ${harness ?? "its harness"}`);
  if (permission === "full") does.push("runs anything without asking");
  if (does.length === 0) return null;
  // The program or the playbook may be one of the project's own files: then its content is what counts.
  const named = [...command, ...(options.playbook === undefined ? [] : [String(options.playbook)])];
  const contents = await Promise.all(named.map((path) => contentHash(root, path)));
  const hash = valueHash({ harness, options, env, permission, contents });
  const file = agent.file === null ? configFileName : relative(root, agent.file);
  return { kind: "agent", name: agentKey(agent), what: does.join("; "), hash, file };
}

async function contentHash(root: string, path: string): Promise<string | null> {
  const inside = path.includes("\0") || path.startsWith("-") ? null : await containedPath(root, path);
  if (inside === null) return null;
  const found = await stat(inside).catch(() => null);
  return found?.isFile() === true ? hashOf(await readFile(inside)) : null;
}

function setting(name: string, what: string, value: unknown): TrustItem {
  return { kind: "settings", name, what, hash: valueHash(value), file: configFileName };
}

function hashOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
