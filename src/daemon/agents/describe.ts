/** What can be said about agents: where each comes from, what it may use and why, and what is wrong with any of them. */
import {
  type Agent,
  type AgentDetail,
  type AgentDiagnostic,
  agentFilePath,
  type ToolVerdict,
} from "../../contract/agent.ts";
import { type ScopedTool, scopeOf } from "../../contract/scope.ts";
import { coreTools, isHarnessTool, matchesEntry, parseToolEntry } from "../../contract/tool-names.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { identityOf } from "../../runtime/registry/agent-order.ts";
import { scopedTool, type ToolRegistry } from "../../runtime/registry/tools.ts";
import { type CostOptions, costDiagnostic, costDiagnostics } from "./costs.ts";

export type AgentsOptions = CostOptions & {
  tools: ToolRegistry;
  /** What reading the agent files brought up. */
  fileDiagnostics: () => readonly AgentDiagnostic[];
};

/** Harnesses from which their own tools are taken away. The others are stopped where they ask. */
const scopedHarnesses: readonly string[] = ["native", "claude-code"];

/** Every tool there is, as the policy sees it. */
export function allTools(tools: ToolRegistry): ScopedTool[] {
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
  const decide = scopeOf(agent);
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

/** Everything an author should know: of files, names that meet, tools that do not exist, and costs nobody can count. */
export function agentDiagnostics(options: AgentsOptions): AgentDiagnostic[] {
  return [...ownDiagnostics(options), ...costDiagnostics(options)];
}

function ownDiagnostics({ agents, tools, fileDiagnostics }: AgentsOptions): AgentDiagnostic[] {
  const known = new Map(allTools(tools).map((tool) => [tool.name, tool]));
  const unknown = agents.listAgents().flatMap(({ slug }) => unknownTools(agents.get(slug), known));
  return [...fileDiagnostics(), ...agents.diagnostics(), ...unknown];
}

function unknownTools(agent: Agent, known: ReadonlyMap<string, ScopedTool>): AgentDiagnostic[] {
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

function scopeNote({ harness, tools, deny_tools: denied }: Agent): string | null {
  if (scopedHarnesses.includes(harness) || (tools === null && denied.length === 0)) return null;
  if (harness === "scripted") return "scripted keeps its own tools; only the tools of Aegis are held to this list";
  return `${harness} is refused other tools of its own where it asks: before it changes files or runs anything, not always before it reads`;
}

function concerns(diagnostic: AgentDiagnostic, agent: Agent): boolean {
  return diagnostic.agent === agent.slug || (diagnostic.file !== null && diagnostic.file === agent.file);
}
