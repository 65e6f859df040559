/** Computes the effective rights of a session: those of its agent, limited by those of its starter. */
import type { Agent, Permission } from "@aegis/contract/agent.ts";
import { type SandboxSettings, unsaidSandbox } from "@aegis/contract/sandbox.ts";
import type { SessionLimits } from "@aegis/contract/session.ts";
import type { StarterAgent } from "@aegis/contract/starter.ts";

/** Returns the agent with the session's limits applied. Without limits it returns the same object. */
export function limitedAgent(agent: Agent, limits: SessionLimits | null): Agent {
  if (limits === null) return agent;
  return {
    ...agent,
    model: limits.model ?? agent.model,
    ...shared(agent, limits),
    deny_tools: union(agent.deny_tools, limits.deny_tools),
    may_end: inBoth(agent.may_end, limits.may_end ?? []),
    ...(limits.within === undefined ? {} : { within: limits.within.map((names) => [...names]) }),
    ...confinedWithin(agent, limits),
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
    ...(agent.needs_at_most === undefined ? {} : { needs_at_most: agent.needs_at_most }),
    deny_tools: union(agent.deny_tools, more.deny_tools ?? []),
    may_end: agent.may_end,
    ...ceilings(agent, started),
    ...(agent.confined_within === undefined ? {} : { confined_within: agent.confined_within }),
  };
}

/** What a session passes on: its agent's settings and those above it. Without an entry all leave it to the project. */
export function confinementsOf(agent: Pick<Agent, "sandbox" | "allow" | "confined_within">): SandboxSettings[] {
  const { sandbox, allow, confined_within = [] } = agent;
  const all = [...confined_within, { sandbox, allow }];
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

function confinedWithin(agent: Agent, { confined_within, permission }: SessionLimits): Pick<Agent, "confined_within"> {
  const starters = confined_within ?? (permission === null ? [] : [unsaidSandbox]);
  const all = [...(agent.confined_within ?? []), ...starters];
  return all.length === 0 ? {} : { confined_within: all };
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

type Rights = Pick<Agent, "permission" | "needs_at_most">;

/**
 * What both permissions allow. `write` edits without a question, and `auto` may use every tool after a question, so
 * neither is the lower one: together they ask as `auto` does, about the tools that `write` has.
 */
function shared(own: Rights, limits: Pick<SessionLimits, "permission" | "needs_at_most">): Rights {
  const { permission: most } = limits;
  const isMixed = own.permission !== most && [own.permission, most].every((one) => one === "write" || one === "auto");
  const needs_at_most = isMixed ? "write" : (own.needs_at_most ?? limits.needs_at_most);
  return {
    permission: isMixed ? "auto" : lower(own.permission, most),
    ...(needs_at_most === undefined ? {} : { needs_at_most }),
  };
}

/** Of two permissions that are not `write` and `auto`. */
function lower(own: Permission, most: Permission | null): Permission {
  if (most === null || own === most || most === "full") return own;
  return own === "full" || most === "read" ? most : own;
}

/** The names in both lists. */
function inBoth(a: readonly string[], b: readonly string[]): string[] {
  const within = (names: readonly string[], name: string) => names.includes("*") || names.includes(name);
  return [...new Set([...a, ...b])].filter((name) => within(a, name) && within(b, name));
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])];
}
