/** Keeps what nobody has agreed to out of the settings: it is listed, with the way to agree, and has no effect. */
import type { Agent } from "../../contract/agent.ts";
import type { Trust, TrustItem } from "../../runtime/plugins/trust/trust.ts";
import type { Settings } from "../settings.ts";
import { agentKey, projectItems } from "./items.ts";

export type Untrusted = { item: TrustItem; reason: "untrusted" | "changed" };

export type Gated = Settings & {
  /** What of the project's files has no effect, besides its plugins. */
  untrusted: Untrusted[];
  /** Why an agent must not be started here, or null when it may. */
  refusal: (agent: Agent) => string | null;
};

const nativeHarness = "native";

export async function gateSettings(root: string, settings: Settings, trust: Trust): Promise<Gated> {
  const { config, agents } = settings;
  const items = await projectItems(root, config, agents);
  const untrusted: Untrusted[] = [];
  const isRefused = async (item: TrustItem | undefined): Promise<boolean> => {
    if (item === undefined) return false;
    const verdict = await trust.judge(item);
    if (!verdict.allowed) untrusted.push({ item, reason: verdict.reason });
    return !verdict.allowed;
  };
  const gatedAgents = [];
  for (const agent of agents) {
    const item = items.agents.get(agentKey(agent));
    const refused = (await isRefused(item)) && item !== undefined ? refusalText(item) : null;
    gatedAgents.push(refused === null ? agent : { ...agent, refused });
  }
  const models = new Map<string, string>();
  for (const [name, item] of items.models) if (await isRefused(item)) models.set(name, refusalText(item));
  const harnesses = new Map<string, string>();
  for (const { item, harnesses: names } of items.harnesses)
    if (await isRefused(item)) for (const name of names) harnesses.set(name, refusalText(item));
  const schedules: typeof config.schedules = {};
  for (const [name, entry] of Object.entries(config.schedules))
    if (!(await isRefused(items.schedules.get(name)))) schedules[name] = entry;
  const { telegram, ...others } = config;
  const keepsTelegram = telegram !== undefined && !(await isRefused(items.settings.get("telegram")));
  const { token_file, ...server } = config.server;
  const keepsToken = token_file !== undefined && !(await isRefused(items.settings.get("token_file")));
  return {
    ...settings,
    config: {
      ...others,
      schedules,
      server: keepsToken ? config.server : server,
      ...(keepsTelegram ? { telegram } : {}),
    },
    agents: gatedAgents,
    untrusted,
    refusal: (agent) => agent.refused ?? harnesses.get(agent.harness) ?? modelRefusal(agent, models),
  };
}

/** One line for people. */
export function untrustedLine({ item, reason }: Untrusted): string {
  const why = reason === "changed" ? "changed since it was trusted" : "not trusted yet";
  return `${item.kind} ${item.name} (${item.file}): ${why}: ${item.what}`;
}

/** A native agent without a model of its own may end up with any of them. */
function modelRefusal({ harness, model }: Agent, refused: ReadonlyMap<string, string>): string | null {
  if (harness !== nativeHarness) return null;
  if (model === null) return refused.values().next().value ?? null;
  return refused.get(model.split("/")[0] ?? "") ?? null;
}

function refusalText({ kind, name, file, what }: TrustItem): string {
  return `${kind} ${name} of ${file} is not trusted here: ${what}`;
}
