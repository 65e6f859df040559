/** The settings in force: what the config files say, and what is found on the machine where they say nothing. */
import type { Agent } from "../contract/agent.ts";
import { AegisError } from "../contract/errors.ts";
import { findProgram } from "../lib/find-program.ts";
import { didYouMean } from "../lib/nearest.ts";
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

async function chooseAgents(config: Config, options: SettingsOptions): Promise<Pick<Settings, "agents" | "choice">> {
  const configured = Object.entries(config.agents).map(([slug, entry]) => toAgent(slug, entry));
  const found = configured.length > 0 ? withOffline(configured) : await detect(options);
  const wanted = options.agent ?? config.default_agent;
  if (wanted === null) return found;
  if (!found.agents.some((agent) => agent.slug === wanted)) {
    const names = found.agents.map((agent) => agent.slug);
    throw new AegisError("not_found", `no agent "${wanted}"${didYouMean(wanted, names)}`, {
      hint: `agents here: ${names.join(", ")}`,
    });
  }
  const why =
    options.agent === undefined
      ? "it is the default agent of the project's configuration"
      : "it was asked for on the command line";
  return { agents: found.agents, choice: { slug: wanted, why } };
}

/** The offline agent is there for every project, unless it declares one of that name itself. */
function withOffline(configured: Agent[]): Pick<Settings, "agents" | "choice"> {
  const declared = configured.some((agent) => agent.slug === offlineAgent.slug);
  const agents = declared ? configured : [...configured, offlineAgent];
  const slug = configured[0]?.slug ?? offlineAgent.slug;
  return { agents, choice: { slug, why: "it is the first agent of the project's configuration" } };
}

function detect(options: SettingsOptions): Promise<Pick<Settings, "agents" | "choice">> {
  return detectAgents({
    findCommand: (name) => findProgram(name, options.env.PATH ?? ""),
    findModel: options.findModel,
  });
}
