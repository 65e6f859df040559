/** The decisions of a person about the gates of a project's plugins. Needs no daemon. */
import { realpath } from "node:fs/promises";
import { AegisError } from "@aegis/contract/errors.ts";
import type { PluginDetail } from "@aegis/contract/plugin.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { heldHooks, hookLabel } from "@aegis/plugins/gates/enforcer.ts";
import type { GateRecord } from "@aegis/plugins/gates/store.ts";
import { pluginHash } from "@aegis/plugins/trust/trust.ts";
import { gateStore } from "./gate-store.ts";

export type GateProject = { root: string; env: Environment };

export type RecordedGates = { plugin: string; place: string; hooks: string[]; record: GateRecord };

export async function recordedGates({ root, env }: GateProject): Promise<RecordedGates[]> {
  const store = gateStore(await realpath(root), env);
  return Object.entries(await store.read()).map(([plugin, record]) => {
    return { plugin, place: store.placeOf(record), hooks: record.hooks.map(hookLabel), record };
  });
}

/** Throws `not_found` with the nearest name. */
export async function gatesOf(project: GateProject, plugin: string): Promise<RecordedGates> {
  const recorded = await recordedGates(project);
  const found = recorded.find((one) => one.plugin === plugin);
  if (found !== undefined) return found;
  const names = recorded.map((one) => one.plugin);
  throw new AegisError("not_found", `no gates of a plugin "${plugin}" are recorded here${didYouMean(plugin, names)}`, {
    hint: names.length === 0 ? "no plugin holds gates here" : `plugins with gates: ${names.join(", ")}`,
  });
}

/** Removes exactly the gates that were shown. Throws `conflict` if the recorded gates have changed since. */
export async function dropGates({ root, env }: GateProject, { plugin, record }: RecordedGates): Promise<void> {
  await gateStore(await realpath(root), env).drop(plugin, record);
}

/** What accepting the current version of a plugin would change. */
export type GateOffer = {
  plugin: PluginDetail;
  hash: string;
  hooks: string[];
  lost: string[];
  added: string[];
  /** False if everything is already accepted. */
  isNew: boolean;
  before: RecordedGates | null;
};

export async function offeredGates(project: GateProject, plugin: PluginDetail): Promise<GateOffer> {
  const before = (await recordedGates(project)).find((one) => one.plugin === plugin.name) ?? null;
  const hash = await pluginHash({ name: plugin.name, dir: plugin.place });
  const hooks = heldHooks(plugin.brings.hooks).map(hookLabel);
  const known = before?.hooks ?? [];
  const lost = known.filter((label) => !hooks.includes(label));
  const added = hooks.filter((label) => !known.includes(label));
  const isSame = before === null ? hooks.length === 0 : before.record.hash === hash && before.place === plugin.place;
  return { plugin, hash, hooks, lost, added, isNew: !isSame || lost.length + added.length > 0, before };
}

/** Records exactly what was offered. If the plugin has changed since, the next check refuses it again. */
export async function acceptGates({ root, env }: GateProject, { plugin, hash, before }: GateOffer): Promise<void> {
  const store = gateStore(await realpath(root), env);
  const hooks = heldHooks(plugin.brings.hooks);
  if (hooks.length > 0) await store.set(plugin.name, { place: plugin.place, hash, hooks });
  else if (before !== null) await store.drop(plugin.name, before.record);
}
