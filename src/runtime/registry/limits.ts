/** What a session may have at most: its agent, less what whoever started it does not allow. */
import type { Agent, Permission } from "../../contract/agent.ts";
import type { SessionLimits } from "../../contract/session.ts";

/** `auto` asks a person before it does what `full` simply does. */
const ranks = { read: 0, write: 1, auto: 2, full: 3 } as const satisfies Record<Permission, number>;

/** The agent as the session has it. Without limits it is the very same object. */
export function limitedAgent(agent: Agent, limits: SessionLimits | null): Agent {
  if (limits === null) return agent;
  return {
    ...agent,
    model: limits.model ?? agent.model,
    permission: lower(agent.permission, limits.permission),
    deny_tools: union(agent.deny_tools, limits.deny_tools),
    ...(limits.within === undefined ? {} : { within: limits.within.map((names) => [...names]) }),
  };
}

/**
 * What an agent passes on to one that it starts: its own rights at most, whatever is denied to it, and its own list of
 * tools, unless its author says with `allow_agents` that it has this agent for work it cannot do itself.
 */
export function limitsBelow(
  agent: Agent,
  started: Pick<Agent, "slug" | "ref">,
  more: { model?: string | null; deny_tools?: readonly string[] },
): SessionLimits {
  return {
    model: more.model ?? null,
    permission: agent.permission,
    deny_tools: union(agent.deny_tools, more.deny_tools ?? []),
    ...ceilings(agent, started),
  };
}

/** The same for a session, whose agent may be gone by now. */
export function limitsOf(
  { limits }: { limits: SessionLimits | null },
  agent: Agent | null,
  started: Pick<Agent, "slug" | "ref">,
): SessionLimits | null {
  return agent === null ? limits : limitsBelow(limitedAgent(agent, limits), started, {});
}

/** Whether one of the names is the agent's; `*` is everybody's. */
export function isNamed({ slug, ref }: Pick<Agent, "slug" | "ref">, names: readonly string[]): boolean {
  return ["*", slug, ref].some((name) => names.includes(name));
}

function ceilings(
  { tools, within = [], subagents }: Agent,
  started: Pick<Agent, "slug" | "ref">,
): Pick<SessionLimits, "within"> {
  const own = tools === null || isNamed(started, subagents.allow_agents ?? []) ? [] : [tools];
  // A chain of agents with the same list is held to it once.
  const lists = new Map([...within, ...own].map((names) => [JSON.stringify(names), names]));
  return lists.size === 0 ? {} : { within: [...lists.values()] };
}

function lower(own: Permission, most: Permission | null): Permission {
  return most === null || ranks[own] <= ranks[most] ? own : most;
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])];
}
