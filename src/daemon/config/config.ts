/** The configuration as the daemon uses it: one name for each thing, every default in place, prompt files read. */
import { type Agent, type Permission, unsaidAgentFields } from "../../contract/agent.ts";
import type { ParsedAgent, ParsedConfig } from "./schema.ts";

export type AgentEntry = {
  description: string;
  harness: string;
  /** `null` leaves the choice to the harness. */
  model: string | null;
  effort: Agent["effort"];
  permission: Permission;
  prompt: PromptFile | null;
  /** Settings that only one harness understands; `command`, `args` and `playbook` are among them. */
  options: Record<string, unknown>;
  env: Record<string, string>;
  /** `null` when the agent does not say; an empty list means none at all. */
  tools: string[] | null;
  deny_tools: string[];
  skills: string[] | null;
  subagents: ParsedAgent["subagents"];
};

/** The path as the config file says it, and the text of the file. */
export type PromptFile = { file: string; text: string };

export type Config = Omit<ParsedConfig, "default_agent" | "agents"> & {
  /** The agent the files name, else the first one declared, else null: then nothing is declared. */
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

export function toAgent(slug: string, entry: AgentEntry): Agent {
  const { prompt, ...said } = entry;
  return { ...unsaidAgentFields, ...said, slug, prompt: prompt?.text ?? "", source: "config", ref: slug };
}

function resolveAgent(entry: ParsedAgent, promptText: string | undefined): AgentEntry {
  const { command, args, playbook } = entry;
  const ownOptions = Object.entries({ command, args, playbook }).filter(([, value]) => value !== undefined);
  const tools = entry.tools ?? entry.tools_allow ?? [];
  return {
    description: entry.description,
    harness: entry.harness ?? entry.provider ?? "",
    model: entry.model ?? null,
    effort: entry.effort ?? null,
    permission: entry.permission,
    prompt: entry.prompt === undefined ? null : { file: entry.prompt, text: promptText ?? "" },
    options: { ...entry.options, ...Object.fromEntries(ownOptions) },
    env: entry.env,
    tools: tools === "none" ? [] : tools.length === 0 ? null : tools,
    deny_tools: entry.deny_tools ?? entry.tools_deny ?? [],
    skills: entry.skills ?? null,
    subagents: entry.subagents,
  };
}
