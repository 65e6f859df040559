/** The configuration as the daemon uses it: synonyms resolved, defaults applied, prompt files read. */
import {
  type Agent,
  type AgentMcp,
  type AgentProfile,
  type Permission,
  unsaidAgentFields,
} from "@aegis/contract/agent.ts";
import type { ParsedAgent, ParsedConfig } from "./schema.ts";

export type AgentEntry = {
  /** The agent from which this agent inherits the fields that it does not set. */
  extends: string | null;
  description: string;
  /** Null only if `extends` is set. */
  harness: string | null;
  /** `null` leaves the choice to the harness. */
  model: string | null;
  effort: Agent["effort"];
  /** Null only if `extends` is set. */
  permission: Permission | null;
  prompt: PromptFile | null;
  /** Options of one harness, including `command`, `args` and `playbook`. */
  options: Record<string, unknown>;
  env: Record<string, string>;
  /** Null if the agent does not set it; an empty list means no tools. */
  tools: string[] | null;
  deny_tools: string[];
  skills: string[] | null;
  subagents: ParsedAgent["subagents"];
  may_end: string[];
  mcp: AgentMcp;
  on_crash: Agent["on_crash"];
  isolation: Agent["isolation"];
  nodes: Agent["nodes"];
  sandbox: Agent["sandbox"];
  allow: Agent["allow"];
};

/** The path as written in the config file, and the content of the file. */
type PromptFile = { file: string; text: string };

export type Config = Omit<ParsedConfig, "default_agent" | "agents"> & {
  /** The configured default agent, or the first declared agent, or null if no agent is declared. */
  default_agent: string | null;
  agents: Record<string, AgentEntry>;
};

/** `prompts` maps an agent's name to the text of its prompt file. */
export function resolveConfig(parsed: ParsedConfig, prompts: ReadonlyMap<string, string>): Config {
  const agents = Object.fromEntries(
    Object.entries(parsed.agents).map(([slug, entry]) => [slug, resolveAgent(entry, prompts.get(slug))]),
  );
  return { ...parsed, default_agent: parsed.default_agent ?? Object.keys(agents)[0] ?? null, agents };
}

export function toAgent(slug: string, entry: AgentEntry): AgentProfile {
  const { prompt, extends: other, ...said } = entry;
  const base = other === null ? {} : { extends: other };
  return { ...unsaidAgentFields, ...said, ...base, slug, prompt: prompt?.text ?? "", source: "config" };
}

function resolveAgent(entry: ParsedAgent, promptText: string | undefined): AgentEntry {
  const { command, args, playbook } = entry;
  const ownOptions = Object.entries({ command, args, playbook }).filter(([, value]) => value !== undefined);
  const tools = entry.tools ?? entry.tools_allow ?? [];
  const isOwn = entry.extends === undefined;
  return {
    extends: entry.extends ?? null,
    description: entry.description,
    harness: entry.harness ?? entry.provider ?? (isOwn ? "" : null),
    model: entry.model ?? null,
    effort: entry.effort ?? null,
    permission: entry.permission ?? (isOwn ? "auto" : null),
    prompt: entry.prompt === undefined ? null : { file: entry.prompt, text: promptText ?? "" },
    options: { ...entry.options, ...Object.fromEntries(ownOptions) },
    env: entry.env,
    tools: tools === "none" ? [] : tools.length === 0 ? null : tools,
    deny_tools: entry.deny_tools ?? entry.tools_deny ?? [],
    skills: entry.skills ?? null,
    subagents: entry.subagents,
    may_end: entry.may_end,
    mcp: entry.mcp,
    on_crash: entry.on_crash ?? null,
    isolation: entry.isolation ?? null,
    nodes: entry.nodes ?? null,
    sandbox: entry.sandbox ?? null,
    allow: entry.allow ?? null,
  };
}
