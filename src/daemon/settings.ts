/** The settings in force: what the config files say, and what is found on the machine where they say nothing. */
import type { Agent } from "../contract/agent.ts";
import { AegisError } from "../contract/errors.ts";
import { findProgram } from "../lib/find-program.ts";
import type { AgentChoice } from "../runtime/registry/agents.ts";
import { type Config, toAgent } from "./config/config.ts";
import { loadConfig } from "./config/load.ts";
import { formatProblem } from "./config/problem.ts";
import { detectAgents, offlineAgent } from "./detect.ts";

export type Settings = {
  config: Config;
  files: string[];
  agents: Agent[];
  choice: AgentChoice;
};

export type SettingsOptions = {
  root: string;
  env: Readonly<Record<string, string | undefined>>;
  harnesses: readonly string[];
  findModel: () => Promise<{ model: string; why: string } | null>;
  /** The agent asked for on the command line; it goes before the configured default. */
  agent?: string | undefined;
};

export type SettingsResult = { settings: Settings; problems: [] } | { settings: null; problems: string[] };

/** Reads everything anew. With any problem there are no settings: nothing half-valid is ever in force. */
export async function readSettings(options: SettingsOptions): Promise<SettingsResult> {
  const loaded = await loadConfig({ cwd: options.root, harnesses: options.harnesses });
  if (loaded.config === null) return { settings: null, problems: loaded.problems.map(formatProblem) };
  const { agents, choice } = await chooseAgents(loaded.config, options);
  return { settings: { config: loaded.config, files: loaded.files, agents, choice }, problems: [] };
}

async function chooseAgents(
  config: Config,
  options: SettingsOptions,
): Promise<{ agents: Agent[]; choice: AgentChoice }> {
  const configured = Object.entries(config.agents).map(([slug, entry]) => toAgent(slug, entry));
  const found =
    configured.length > 0 && config.default_agent !== null
      ? {
          agents: config.agents[offlineAgent.slug] ? configured : [...configured, offlineAgent],
          choice: { slug: config.default_agent, why: "it is the default agent of the project's configuration" },
        }
      : await detectAgents({
          findCommand: (name) => findProgram(name, options.env.PATH ?? ""),
          findModel: options.findModel,
        });
  if (options.agent === undefined) return found;
  if (!found.agents.some((agent) => agent.slug === options.agent)) {
    const names = found.agents.map((agent) => agent.slug).join(", ");
    throw new AegisError("not_found", `no agent "${options.agent}"`, { hint: `agents here: ${names}` });
  }
  return { agents: found.agents, choice: { slug: options.agent, why: "it was asked for on the command line" } };
}
