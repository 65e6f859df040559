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
  };
}

/** What an agent passes on to those it starts: its own rights at most, and whatever is denied to it. */
export function limitsBelow(
  agent: Agent,
  more: { model?: string | null; deny_tools?: readonly string[] },
): SessionLimits {
  return {
    model: more.model ?? null,
    permission: agent.permission,
    deny_tools: union(agent.deny_tools, more.deny_tools ?? []),
  };
}

/** The same for a session, whose agent may be gone by now. */
export function limitsOf({ limits }: { limits: SessionLimits | null }, agent: Agent | null): SessionLimits | null {
  return agent === null ? limits : limitsBelow(limitedAgent(agent, limits), {});
}

function lower(own: Permission, most: Permission | null): Permission {
  return most === null || ranks[own] <= ranks[most] ? own : most;
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])];
}
