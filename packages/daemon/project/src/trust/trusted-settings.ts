/**
 * Removes untrusted parts from the settings when they are loaded and lists them with the way to trust them. The judge
 * checks again at each use; everything else sees these settings.
 */
import type { Agent } from "@aegis/contract/agent.ts";
import { qualifiedModel } from "@aegis/contract/model-names.ts";
import { factsOf } from "@aegis/drivers/all.ts";
import { changesLine, type PartChange } from "@aegis/plugins/trust/parts.ts";
import type { Refusal, Trust, TrustItem } from "@aegis/plugins/trust/trust.ts";
import type { Config } from "../config/config.ts";
import type { Settings } from "../settings.ts";
import { agentKey } from "./agent-item.ts";
import type { Contents } from "./contents.ts";
import { projectItems } from "./items.ts";
import { withDefaultAt } from "./setting-items.ts";

export type UntrustedItem = { item: TrustItem; reason: Refusal["reason"]; changes: readonly PartChange[] };

export type TrustedSettings = Settings & {
  /** The parts of the project's files that have no effect, except plugins. */
  untrusted: UntrustedItem[];
  /** The reason why an agent must not start, or null. */
  refusal: (agent: Agent) => string | null;
};

export async function trustedSettings(
  root: string,
  settings: Settings,
  trust: Trust,
  contents: Contents,
): Promise<TrustedSettings> {
  const { config, agents } = settings;
  const items = await projectItems(root, config, agents, contents);
  const untrusted: UntrustedItem[] = [];
  const refused = async (item: TrustItem | undefined): Promise<string | null> => {
    if (item === undefined) return null;
    const verdict = await trust.judge(item);
    if (verdict.allowed) return null;
    untrusted.push({ item, reason: verdict.reason, changes: verdict.changes });
    return refusalText(item, verdict);
  };
  const trustedAgents = [];
  for (const agent of agents) {
    const why = await refused(items.agents.get(agentKey(agent)));
    trustedAgents.push(why === null ? agent : { ...agent, refused: why });
  }
  const models = new Map<string, string>();
  for (const [name, item] of items.models) {
    const why = await refused(item);
    if (why !== null) models.set(name, why);
  }
  const harnesses = new Map<string, string>();
  for (const { item, harnesses: names } of items.harnesses) {
    const why = await refused(item);
    if (why !== null) for (const name of names) harnesses.set(name, why);
  }
  const schedules: typeof config.schedules = {};
  for (const [name, entry] of Object.entries(config.schedules))
    if ((await refused(items.schedules.get(name))) === null) schedules[name] = entry;
  let trusted: Config = { ...config, schedules };
  // Settings of a workflow or plugin keep their values: the judge prevents that workflow or plugin from running.
  for (const { item, holds } of items.settings)
    if ((await refused(item)) !== null && holds.kind === "value") trusted = withDefaultAt(trusted, holds.path);
  return {
    ...settings,
    config: trusted,
    agents: trustedAgents,
    untrusted,
    refusal: (agent) => agent.refused ?? harnesses.get(agent.harness) ?? modelRefusal(agent, models),
  };
}

/** Formats one line for people. */
export function untrustedLine({ item, reason, changes }: UntrustedItem): string {
  const why = reason === "changed" ? "changed since you trusted it" : "not trusted yet";
  return `${item.kind} ${item.name} (${item.file}): ${why}: ${item.what}${whatChanged(changes)}`;
}

/** Names what changed, so that a person need not look for it. */
export function refusalText(
  { kind, name, file, what }: TrustItem,
  { reason, changes }: Omit<UntrustedItem, "item">,
): string {
  const why = reason === "changed" ? "changed since you trusted it" : "is not trusted here";
  return `${kind} ${name} of ${file} ${why}: ${what}${whatChanged(changes)}`;
}

function whatChanged(changes: readonly PartChange[]): string {
  return changes.length === 0 ? "" : `; what changed: ${changesLine(changes)}`;
}

/**
 * The providers whose settings decide where a native agent's requests go. Without a model of its own it may be any
 * provider.
 */
export function providersOf({ harness, model }: Pick<Agent, "harness" | "model">, all: Iterable<string>): string[] {
  if (factsOf(harness)?.callsModel !== true) return [];
  const names = [...all];
  return model === null ? names : names.filter((name) => name === qualifiedModel(model).split("/")[0]);
}

function modelRefusal(agent: Agent, refused: ReadonlyMap<string, string>): string | null {
  const [name] = providersOf(agent, refused.keys());
  return name === undefined ? null : (refused.get(name) ?? null);
}
