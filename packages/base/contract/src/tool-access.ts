/**
 * Decides which tools an agent may use. The same function hides a tool and refuses a call, so an agent cannot call a
 * tool that it does not see.
 */
import type { Agent, AgentIdentity, Permission } from "./agent.ts";
import { matchesEntry, parseToolEntry, type ToolEntry } from "./tool-names.ts";

/** The properties of a tool that the decision uses. `plugin` is the owner, null for Aegis itself. */
export type ScopedTool = {
  name: string;
  kind: "core" | "plane" | "plugin";
  plugin: string | null;
  /** The permission it needs. An agent with `auto` has every permission, because a person is asked. */
  needs: Exclude<Permission, "auto">;
  /** The core tool whose work this tool can do. An agent that is denied the core tool is denied this tool too. */
  implies?: string;
  /** The only agent that may call it: an agent of the tool's own plugin or of no plugin, or `plugin:agent`. */
  required_agent: string | null;
  /** The agents that see it; an empty list means every agent. */
  visible_to: readonly string[];
};

export type ScopedAgent = Pick<
  Agent,
  | "slug"
  | "plugin"
  | "source"
  | "extends"
  | "overrides"
  | "tools"
  | "deny_tools"
  | "within"
  | "permission"
  | "needs_at_most"
>;

export type Decision = { allowed: true; reason: string } | { allowed: false; reason: string; refusal: Refusal };

/** The reply to a refused call. */
export type Refusal = { success: false; error: string; error_type: "validation_error" | "permission_error" };

/** Returns a function that decides about any tool for one agent. */
export function scopeOf(agent: ScopedAgent): (tool: ScopedTool) => Decision {
  const listed = agent.tools?.map(parseToolEntry) ?? null;
  const denied = agent.deny_tools.map(parseToolEntry);
  const within = (agent.within ?? []).map((names) => names.map(parseToolEntry));
  // The order matters: the tool's demands, then the agent's allowlist, then its denials.
  const objections: readonly ((tool: ScopedTool) => Decision | null)[] = [
    (tool) => binding(agent, tool),
    (tool) => visibility(agent, tool),
    (tool) => denial(agent, denied, tool),
    (tool) => ceiling(agent, within, tool),
    (tool) => rights(agent, tool),
  ];
  return (tool) => {
    for (const objection of objections) {
      const decision = objection(tool);
      if (decision !== null) return decision;
    }
    return grant(agent, listed, tool);
  };
}

/**
 * Returns false if no plane tool can ever be in the agent's scope, so that its harness need not connect to the plane.
 */
export function mayUsePlane(agent: Pick<Agent, "tools">): boolean {
  return agent.tools === null || agent.tools.some((text) => !parseToolEntry(text).coreOnly);
}

function grant(agent: ScopedAgent, listed: readonly ToolEntry[] | null, tool: ScopedTool): Decision {
  if (listed !== null) {
    if (listed.length === 0) return refuse(agent, tool, "it has no tools at all");
    const entry = listed.find((candidate) => matchesEntry(candidate, tool));
    if (entry === undefined) return refuse(agent, tool, "its tools do not name it");
    // Arguments are not inspected here, so a tool that is only partly granted is refused.
    if (entry.limit !== null) return refuse(agent, tool, `its tools name it only as ${entry.text}`);
    return { allowed: true, reason: `its tools name it${entry.text === tool.name ? "" : ` (${entry.text})`}` };
  }
  const owner = agent.plugin ?? pluginIn(agent.extends);
  if (owner === null) return { allowed: true, reason: "it names no tools, so it has all of them" };
  if (tool.plugin === null) return { allowed: true, reason: "every agent of a plugin has the built-in tools" };
  if (tool.plugin === owner) return { allowed: true, reason: "it belongs to the same plugin" };
  return refuse(agent, tool, `it belongs to the plugin ${tool.plugin}, the agent to ${owner}`);
}

/** An agent that extends an agent of a plugin gets no tools beyond that agent's. */
function pluginIn(ref: string | undefined): string | null {
  const colon = ref?.indexOf(":") ?? -1;
  return ref === undefined || colon === -1 ? null : ref.slice(0, colon);
}

/**
 * Compares identities, not names: an agent with the same name passes only if it takes precedence over the required
 * agent.
 */
function binding(agent: ScopedAgent, tool: ScopedTool): Decision | null {
  const { required_agent: required } = tool;
  if (required === null) return null;
  const colon = required.indexOf(":");
  // A bare name means an agent of the tool's own plugin, or an agent of no plugin.
  const plugins = colon === -1 ? [tool.plugin, null] : [required.slice(0, colon)];
  const slug = required.slice(colon + 1);
  const isRequired = (one: Pick<AgentIdentity, "plugin" | "slug">) => plugins.includes(one.plugin) && one.slug === slug;
  if (isRequired(agent) || agent.overrides.some(isRequired)) return null;
  return {
    allowed: false,
    reason: `only the agent ${required} may use it`,
    refusal: {
      success: false,
      error: `Tool '${tool.name}' requires agent '${required}' but current agent is '${agentName(agent)}'`,
      error_type: "validation_error",
    },
  };
}

function agentName({ plugin, slug }: ScopedAgent): string {
  return plugin === null ? slug : `${plugin}:${slug}`;
}

function visibility(agent: ScopedAgent, tool: ScopedTool): Decision | null {
  if (tool.visible_to.length === 0) return null;
  // A bare name means an agent of the tool's own plugin or the user's, never an agent of another plugin.
  const isForeign = agent.plugin !== null && tool.plugin !== null && agent.plugin !== tool.plugin;
  const names = [
    ...(isForeign ? [] : [agent.slug]),
    ...(agent.plugin === null ? [] : [`${agent.plugin}:${agent.slug}`]),
  ];
  if (tool.visible_to.some((name) => names.includes(name))) return null;
  const agents = tool.visible_to.join(", ");
  return {
    allowed: false,
    reason: `only these agents see it: ${agents}`,
    refusal: {
      success: false,
      error: `Tool '${tool.name}' is only visible to agents: [${agents}]. Current agent is '${agentName(agent)}'`,
      error_type: "validation_error",
    },
  };
}

/** Arguments are not inspected here, so a tool that is partly denied is denied as a whole. */
function denial(agent: ScopedAgent, denied: readonly ToolEntry[], tool: ScopedTool): Decision | null {
  const entry = denied.find((candidate) => matchesEntry(candidate, tool));
  if (entry !== undefined) return refuse(agent, tool, `its deny_tools name it (${entry.text})`);
  if (tool.implies === undefined) return null;
  const implied = { name: tool.implies, kind: "core" as const, plugin: null };
  const other = denied.find((candidate) => matchesEntry(candidate, implied));
  return other === undefined ? null : refuse(agent, tool, `it can do what its deny_tools name (${other.text})`);
}

/** A session cannot use tools that its starters may not use. */
function ceiling(agent: ScopedAgent, within: readonly (readonly ToolEntry[])[], tool: ScopedTool): Decision | null {
  const holds = (list: readonly ToolEntry[]) => list.some((entry) => entry.limit === null && matchesEntry(entry, tool));
  return within.every(holds)
    ? null
    : refuse(agent, tool, "the tools of the agent that started it do not name it, nor its allow_agents this agent");
}

const ranks = { read: 0, write: 1, full: 2, auto: 2 } as const satisfies Record<Permission, number>;

function rights(agent: ScopedAgent, tool: ScopedTool): Decision | null {
  const { permission, needs_at_most: most = permission } = agent;
  if (ranks[permission] < ranks[tool.needs])
    return refuse(agent, tool, `its permission is ${permission}, the tool needs ${tool.needs}`);
  if (ranks[most] >= ranks[tool.needs]) return null;
  return refuse(
    agent,
    tool,
    `its permission and that of its starter allow at most ${most}, the tool needs ${tool.needs}`,
  );
}

export function refuse(
  agent: Pick<ScopedAgent, "slug">,
  tool: Pick<ScopedTool, "name">,
  reason: string,
): Decision & { allowed: false } {
  const error = `Tool '${tool.name}' is not available to agent '${agent.slug}': ${reason}`;
  return { allowed: false, reason, refusal: { success: false, error, error_type: "permission_error" } };
}
