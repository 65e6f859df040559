/**
 * What an agent may use. One function decides, and it is asked both to hide a tool and to refuse a call: what an agent
 * does not see it cannot call either.
 */
import type { Agent, AgentIdentity, Permission } from "./agent.ts";
import { matchesEntry, parseToolEntry, type ToolEntry } from "./tool-names.ts";

/** What a decision looks at. `plugin` is the owner, null for Aegis itself. */
export type ScopedTool = {
  name: string;
  kind: "core" | "plane" | "plugin";
  plugin: string | null;
  /** The rights it needs. An agent with `auto` has them all: a person is asked. */
  needs: Exclude<Permission, "auto">;
  /** The tool of the native loop that it can do the work of: who is denied that one is denied this one too. */
  implies?: string;
  /** The only agent that may call it: one of the tool's own plugin, or `plugin:agent`. */
  required_agent: string | null;
  /** The agents that see it; an empty list means everyone. */
  visible_to: readonly string[];
};

export type ScopedAgent = Pick<
  Agent,
  "slug" | "plugin" | "source" | "overrides" | "tools" | "deny_tools" | "within" | "permission"
>;

export type Decision = { allowed: true; reason: string } | { allowed: false; reason: string; refusal: Refusal };

/** What a refused call is answered with. */
export type Refusal = { success: false; error: string; error_type: "validation_error" | "permission_error" };

/** Decides about any tool for one agent. */
export function scopeOf(agent: ScopedAgent): (tool: ScopedTool) => Decision {
  const listed = agent.tools?.map(parseToolEntry) ?? null;
  const denied = agent.deny_tools.map(parseToolEntry);
  const within = (agent.within ?? []).map((names) => names.map(parseToolEntry));
  // In this order: what the tool demands, what the agent may have, what is taken away from it again.
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

/** False when nothing on the plane can ever be in the agent's scope, so that no harness need connect to it. */
export function mayUsePlane(agent: Pick<Agent, "tools">): boolean {
  return agent.tools === null || agent.tools.some((text) => !parseToolEntry(text).coreOnly);
}

function grant(agent: ScopedAgent, listed: readonly ToolEntry[] | null, tool: ScopedTool): Decision {
  if (listed !== null) {
    if (listed.length === 0) return refuse(agent, tool, "it has no tools at all");
    const entry = listed.find((candidate) => matchesEntry(candidate, tool));
    if (entry === undefined) return refuse(agent, tool, "its tools do not name it");
    // Half a tool cannot be given where nobody looks at the arguments, and the whole was not granted.
    if (entry.limit !== null) return refuse(agent, tool, `its tools name it only as ${entry.text}`);
    return { allowed: true, reason: `its tools name it${entry.text === tool.name ? "" : ` (${entry.text})`}` };
  }
  if (agent.plugin === null) return { allowed: true, reason: "it names no tools, so it has all of them" };
  if (tool.plugin === null) return { allowed: true, reason: "every agent of a plugin has the built-in tools" };
  if (tool.plugin === agent.plugin) return { allowed: true, reason: "it belongs to the same plugin" };
  return refuse(agent, tool, `it belongs to the plugin ${tool.plugin}, the agent to ${agent.plugin}`);
}

/** Identity decides, not the name: an agent that merely shares it does not pass unless it stands in front of that one. */
function binding(agent: ScopedAgent, tool: ScopedTool): Decision | null {
  const { required_agent: required } = tool;
  if (required === null) return null;
  const colon = required.indexOf(":");
  const plugin = colon === -1 ? tool.plugin : required.slice(0, colon);
  const slug = required.slice(colon + 1);
  const isRequired = (one: Pick<AgentIdentity, "plugin" | "slug">) => one.plugin === plugin && one.slug === slug;
  if (isRequired(agent) || agent.overrides.some(isRequired)) return null;
  return {
    allowed: false,
    reason: `only the agent ${required} may use it`,
    refusal: {
      success: false,
      error: `Tool '${tool.name}' requires agent '${required}' but current agent is '${agent.slug}'`,
      error_type: "validation_error",
    },
  };
}

function visibility(agent: ScopedAgent, tool: ScopedTool): Decision | null {
  if (tool.visible_to.length === 0) return null;
  // A bare name means an agent of the tool's own plugin or the user's, never one that another plugin brings.
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
      error: `Tool '${tool.name}' is only visible to agents: [${agents}]. Current agent is '${agent.slug}'`,
      error_type: "validation_error",
    },
  };
}

/** Part of a tool that is denied takes the whole with it, for nobody here looks at the arguments. */
function denial(agent: ScopedAgent, denied: readonly ToolEntry[], tool: ScopedTool): Decision | null {
  const entry = denied.find((candidate) => matchesEntry(candidate, tool));
  if (entry !== undefined) return refuse(agent, tool, `its deny_tools name it (${entry.text})`);
  if (tool.implies === undefined) return null;
  const implied = { name: tool.implies, kind: "core" as const, plugin: null };
  const other = denied.find((candidate) => matchesEntry(candidate, implied));
  return other === undefined ? null : refuse(agent, tool, `it can do what its deny_tools name (${other.text})`);
}

/** What was started does not get past the tools of whoever started it. */
function ceiling(agent: ScopedAgent, within: readonly (readonly ToolEntry[])[], tool: ScopedTool): Decision | null {
  const holds = (list: readonly ToolEntry[]) => list.some((entry) => entry.limit === null && matchesEntry(entry, tool));
  return within.every(holds)
    ? null
    : refuse(agent, tool, "the tools of the agent that started it do not name it, nor its allow_agents this agent");
}

const ranks = { read: 0, write: 1, full: 2, auto: 2 } as const satisfies Record<Permission, number>;

function rights(agent: ScopedAgent, tool: ScopedTool): Decision | null {
  if (ranks[agent.permission] >= ranks[tool.needs]) return null;
  return refuse(agent, tool, `its permission is ${agent.permission}, the tool needs ${tool.needs}`);
}

function refuse(agent: ScopedAgent, tool: ScopedTool, reason: string): Decision {
  const error = `Tool '${tool.name}' is not available to agent '${agent.slug}': ${reason}`;
  return { allowed: false, reason, refusal: { success: false, error, error_type: "permission_error" } };
}
