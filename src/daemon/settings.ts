/** The settings in force: what the project's files say, and what is found on the machine where they say nothing. */
import { join } from "node:path";
import type { AgentDiagnostic, AgentProfile } from "../contract/agent.ts";
import { AegisError } from "../contract/errors.ts";
import { findProgram } from "../lib/find-program.ts";
import { didYouMean } from "../lib/nearest.ts";
import type { AgentChoice } from "../runtime/registry/agents.ts";
import type { AgentFiles } from "./agents/files.ts";
import { agentPlaces } from "./agents/places.ts";
import { type Config, toAgent } from "./config/config.ts";
import { loadConfig } from "./config/load.ts";
import { type ConfigProblem, formatProblem } from "./config/problem.ts";
import { type DetectOptions, detectAgents, offlineAgent } from "./detect.ts";

export type Settings = {
  config: Config;
  files: string[];
  /** Those with a harness of their own first, the best of them at the front. */
  agents: AgentProfile[];
  choice: AgentChoice;
  /** What is wrong with agent files. Unlike the configuration, one bad file costs only its agent. */
  diagnostics: AgentDiagnostic[];
};

export type SettingsOptions = {
  root: string;
  env: Readonly<Record<string, string | undefined>>;
  /** The user's own folder, with `.aegis/agents` in it. */
  home: string;
  agentFiles: AgentFiles;
  harnesses: readonly string[];
  findModel: () => Promise<{ model: string; why: string } | null>;
  probe: DetectOptions["probe"];
  /** The agent asked for on the command line; it goes before the configured default. */
  agent?: string | undefined;
};

/** More would bury the problems of the configuration. */
const brokenAtMost = 5;

export type SettingsResult = { settings: Settings; problems: [] } | { settings: null; problems: string[] };

/** Reads everything anew. With any problem there are no settings: nothing half-valid is ever in force. */
export async function readSettings(options: SettingsOptions): Promise<SettingsResult> {
  const { root, home, harnesses, agentFiles } = options;
  const files = await agentFiles.load(agentPlaces(root, home));
  const named = [offlineAgent.slug, ...files.profiles.map((profile) => profile.slug)];
  const loaded = await loadConfig({ cwd: root, harnesses, agents: named });
  if (loaded.config === null) {
    // A name that seems to be missing is often that of a file that cannot be used.
    const broken = files.diagnostics.filter((diagnostic) => diagnostic.level === "error").slice(0, brokenAtMost);
    return { settings: null, problems: [...loaded.problems.map(formatProblem), ...broken.map(formatDiagnostic)] };
  }
  const { agents, choice } = await chooseAgents(loaded.config, files.profiles, options);
  const diagnostics = [...files.diagnostics, ...loaded.warnings.map((warning) => fromConfig(root, warning))];
  return { settings: { config: loaded.config, files: loaded.files, agents, choice, diagnostics }, problems: [] };
}

function formatDiagnostic({ file, line, message }: AgentDiagnostic): string {
  return `${file}${line === null ? "" : `:${line}`}: ${message}`;
}

function fromConfig(root: string, { file, line, key, message }: ConfigProblem): AgentDiagnostic {
  const [, agent = null, field] = key.split(".");
  return { level: "warning", agent, plugin: null, file: join(root, file), line, message: `${field}: ${message}` };
}

type Chosen = Pick<Settings, "agents" | "choice">;

async function chooseAgents(
  config: Config,
  fromFiles: readonly AgentProfile[],
  options: SettingsOptions,
): Promise<Chosen> {
  const configured = Object.entries(config.agents).map(([slug, entry]) => toAgent(slug, entry));
  const found = configured.length > 0 ? withOffline(configured) : await detect(options);
  const agents = [...found.agents, ...fromFiles];
  const wanted = options.agent ?? config.default_agent;
  if (wanted === null) return { agents, choice: found.choice };
  // The agents of plugins are not there yet; one of them is named with its plugin.
  if (!wanted.includes(":") && !agents.some((agent) => agent.slug === wanted)) {
    const names = agents.map((agent) => agent.slug);
    throw new AegisError("not_found", `no agent "${wanted}"${didYouMean(wanted, names)}`, {
      hint: `agents here: ${names.join(", ")}`,
    });
  }
  const why =
    options.agent === undefined
      ? "it is the default agent of the project's configuration"
      : "it was asked for on the command line";
  return { agents, choice: { slug: wanted, why } };
}

/** The offline agent is there for every project, unless it declares one of that name itself. */
function withOffline(configured: AgentProfile[]): Chosen {
  const declared = configured.some((agent) => agent.slug === offlineAgent.slug);
  const agents = declared ? configured : [...configured, offlineAgent];
  const slug = configured[0]?.slug ?? offlineAgent.slug;
  return { agents, choice: { slug, why: "it is the first agent of the project's configuration" } };
}

function detect(options: SettingsOptions): Promise<Chosen> {
  return detectAgents({
    findCommand: (name) => findProgram(name, options.env.PATH ?? ""),
    findModel: options.findModel,
    probe: options.probe,
  });
}
