/** Computes the effective rights of a session: those of its agent, limited by those of its starter. */
import type { Agent, Permission } from "../../contract/agent.ts";
import type { SessionLimits } from "../../contract/session.ts";
import type { StarterAgent } from "../../contract/starter.ts";

/** `auto` ranks below `full` because it asks before acting. */
const ranks = { read: 0, write: 1, auto: 2, full: 3 } as const satisfies Record<Permission, number>;

/** Returns the agent with the session's limits applied. Without limits it returns the same object. */
export function limitedAgent(agent: Agent, limits: SessionLimits | null): Agent {
  if (limits === null) return agent;
  return {
    ...agent,
    model: limits.model ?? agent.model,
    permission: lower(agent.permission, limits.permission),
    deny_tools: union(agent.deny_tools, limits.deny_tools),
    may_end: shared(agent.may_end, limits.may_end ?? []),
    ...(limits.within === undefined ? {} : { within: limits.within.map((names) => [...names]) }),
  };
}

/**
 * The limits that an agent passes to one that it starts: its own rights, its denied tools, and its tool list. If
 * `allow_agents` names the started agent, the tool list is not passed on.
 */
export function limitsBelow(
  agent: StarterAgent,
  started: NamedAgent,
  more: { model?: string | null; deny_tools?: readonly string[] },
): SessionLimits {
  return {
    model: more.model ?? null,
    permission: agent.permission,
    deny_tools: union(agent.deny_tools, more.deny_tools ?? []),
    may_end: agent.may_end,
    ...ceilings(agent, started),
  };
}

export type NamedAgent = Pick<Agent, "slug" | "plugin"> & Partial<Pick<Agent, "overrides">>;

/**
 * Whether a name in the owner's list refers to the agent. Like a tool's `required_agent`, this compares identities:
 * `plugin:agent` means that agent or one that overrides it. A plain name means an agent without a plugin or of the
 * owner's plugin, never one of another plugin. `*` means every agent.
 */
export function isNamed(owner: Pick<Agent, "plugin">, agent: NamedAgent, names: readonly string[]): boolean {
  return names.some((name) => name === "*" || means(owner, agent, name));
}

function means(owner: Pick<Agent, "plugin">, agent: NamedAgent, name: string): boolean {
  const colon = name.indexOf(":");
  if (colon === -1) return agent.slug === name && (agent.plugin === null || agent.plugin === owner.plugin);
  const [plugin, slug] = [name.slice(0, colon), name.slice(colon + 1)];
  return [agent, ...(agent.overrides ?? [])].some((one) => one.plugin === plugin && one.slug === slug);
}

function ceilings({ plugin, tools, within = [], subagents }: StarterAgent, started: NamedAgent) {
  const own = tools === null || isNamed({ plugin }, started, subagents.allow_agents ?? []) ? [] : [tools];
  // Equal lists in a chain of agents are applied once.
  const lists = new Map([...within, ...own].map((names) => [JSON.stringify(names), names]));
  return lists.size === 0 ? {} : { within: [...lists.values()] };
}

function lower(own: Permission, most: Permission | null): Permission {
  return most === null || ranks[own] <= ranks[most] ? own : most;
}

/** The names in both lists. */
function shared(a: readonly string[], b: readonly string[]): string[] {
  const within = (names: readonly string[], name: string) => names.includes("*") || names.includes(name);
  return [...new Set([...a, ...b])].filter((name) => within(a, name) && within(b, name));
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])];
}
