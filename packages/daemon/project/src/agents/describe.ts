/** Describes agents for people: where each one comes from, which tools it may use and why, and its diagnostics. */

import { identityOf } from "@aegis/agents/agent-order.ts";
import type { AgentTable } from "@aegis/agents/agent-table.ts";
import {
  type Agent,
  type AgentDetail,
  type AgentDiagnostic,
  agentFilePath,
  type ToolVerdict,
} from "@aegis/contract/agent.ts";
import type { ScopedTool } from "@aegis/contract/tool-access.ts";
import { coreTools, isHarnessTool, matchesEntry, parseToolEntry } from "@aegis/contract/tool-names.ts";
import { factsOf } from "@aegis/drivers/all.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { ProjectReach } from "@aegis/sandbox/reach.ts";
import { scopedTool, type ToolTable } from "@aegis/sessions/tools/tools.ts";
import { type CostOptions, costDiagnostic, costDiagnostics } from "./costs.ts";
import { agentReach } from "./reach.ts";

export type AgentsOptions = Omit<CostOptions, "config"> & {
  config: () => ReturnType<CostOptions["config"]> & ProjectReach;
  /** The project, and the user's home. */
  root: string;
  home: string;
  tools: ToolTable;
  /** Diagnostics found while reading the agent files. */
  fileDiagnostics: () => readonly AgentDiagnostic[];
};

/** All registered tools in the form that the policy expects. */
export function allTools(tools: ToolTable): ScopedTool[] {
  const core = coreTools.map(
    ({ name, needs }): ScopedTool => ({
      name,
      kind: "core",
      plugin: null,
      needs,
      required_agent: null,
      visible_to: [],
    }),
  );
  return [...core, ...tools.all().map(scopedTool)];
}

/** Throws `not_found` with the nearest name. */
export function describeAgent(options: AgentsOptions, ref: string): AgentDetail {
  const { agents, tools } = options;
  const agent = agents.get(ref);
  const known = allTools(tools);
  const decide = tools.scope(agent, null);
  const verdict = (tool: ScopedTool): ToolVerdict => {
    const { allowed, reason } = decide(tool);
    return { name: tool.name, kind: tool.kind, plugin: tool.plugin, allowed, reason };
  };
  return {
    ...agents.summary(agent),
    prompt: agent.prompt,
    temperature: agent.temperature,
    max_turns: agent.max_turns,
    skills: agent.skills,
    mcp: agent.mcp,
    on_crash: agent.on_crash ?? "retry",
    isolation: agent.isolation ?? "none",
    nodes: agent.nodes ?? [],
    reach: agentReach(agent, options.config(), options),
    declared: declaredBy(agents, agent),
    extends: agent.extends ?? null,
    candidates: agents
      .candidates(agent.slug)
      .map((profile) => ({ ...identityOf(profile), file_path: agentFilePath(profile) })),
    tools: known.map(verdict),
    scope_note: scopeNote(agent),
    diagnostics: [
      ...ownDiagnostics(options).filter((diagnostic) => concerns(diagnostic, agent)),
      ...costDiagnostic(agent, options),
    ],
  };
}

function declaredBy(agents: AgentTable, agent: Agent): AgentDetail["declared"] {
  const [own = agent] = agents.madeFrom(agent);
  const { harness, model, effort, permission, tools, deny_tools } = own;
  return { harness, model, effort, permission, tools, deny_tools };
}

/** All diagnostics about agents: bad files, conflicting names, unknown tools and unknown costs. */
export function agentDiagnostics(options: AgentsOptions): AgentDiagnostic[] {
  return [...ownDiagnostics(options), ...costDiagnostics(options)];
}

function ownDiagnostics({ agents, tools, fileDiagnostics }: AgentsOptions): AgentDiagnostic[] {
  const known = new Map(allTools(tools).map((tool) => [tool.name, tool]));
  const unknown = agents.listAgents().flatMap(({ slug }) => unknownTools(agents.get(slug), known));
  return [...fileDiagnostics(), ...agents.diagnostics(), ...unknown, ...strayAgents(agents, tools)];
}

/** Tools can require agents by name. A name that matches no agent makes the tool unusable. */
function strayAgents(agents: AgentTable, tools: ToolTable): AgentDiagnostic[] {
  const names = agents.listAgents().map(({ slug }) => slug);
  return tools.all().flatMap(({ name, plugin = null, required_agent: required }): AgentDiagnostic[] => {
    if (required === undefined || isThere(agents, required, plugin)) return [];
    const message = `the tool "${name}" requires the agent "${required}", which does not exist${didYouMean(required, names)}; no agent can call it`;
    return [{ level: "warning", agent: null, plugin, file: null, line: null, message }];
  });
}

function isThere(agents: AgentTable, required: string, plugin: string | null): boolean {
  if (required.includes(":")) return agents.loadAgent(required) !== null;
  return agents.candidates(required).some((agent) => agent.plugin === null || agent.plugin === plugin);
}

/** Entries of the agent's tool lists that name no tool. */
export function unknownToolsOf(profile: ToolLists, tools: ToolTable): AgentDiagnostic[] {
  return unknownTools(profile, new Map(allTools(tools).map((tool) => [tool.name, tool])));
}

type ToolLists = Pick<Agent, "slug" | "plugin" | "file" | "tools" | "deny_tools">;

function unknownTools(agent: ToolLists, known: ReadonlyMap<string, ScopedTool>): AgentDiagnostic[] {
  const { slug, plugin, file } = agent;
  const check = (field: string, texts: readonly string[]) =>
    texts
      .filter((text) => !isKnown(text, known))
      .map((text): AgentDiagnostic => {
        const message = `${field}: there is no tool "${text}"${didYouMean(text, known.keys())}`;
        return { level: "warning", agent: slug, plugin, file, line: null, message };
      });
  return [...check("tools", agent.tools ?? []), ...check("deny_tools", agent.deny_tools)];
}

function isKnown(text: string, known: ReadonlyMap<string, ScopedTool>): boolean {
  const entry = parseToolEntry(text);
  if (isHarnessTool(entry.pattern)) return true;
  const named = known.get(entry.pattern);
  const candidates = entry.pattern.includes("*") ? known.values() : named === undefined ? [] : [named];
  return [...candidates].some((tool) => matchesEntry(entry, tool));
}

/** Describes the part of an agent's tool list that its harness cannot enforce; null if it enforces everything. */
export function scopeNote({ harness, tools, deny_tools: denied }: Agent): string | null {
  const scopes = factsOf(harness)?.scopesTools;
  if (scopes === "removed" || (tools === null && denied.length === 0)) return null;
  if (scopes === "playbook")
    return "the scripted agent keeps the tools of its playbook; this list limits only the tools of Aegis";
  return `${harness} is refused other tools of its own where it asks: before it changes files or runs anything, not always before it reads`;
}

function concerns(diagnostic: AgentDiagnostic, agent: Agent): boolean {
  return diagnostic.agent === agent.slug || (diagnostic.file !== null && diagnostic.file === agent.file);
}
