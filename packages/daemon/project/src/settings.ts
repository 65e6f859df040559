/** The effective settings: the project's files, completed by what is detected on the machine. */
import { join } from "node:path";
import type { AgentChoice } from "@aegis/agents/agent-table.ts";
import type { AgentDiagnostic, AgentProfile } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { findProgram } from "@aegis/lib/find-program.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { AgentFiles } from "./agents/files.ts";
import { agentPlaces } from "./agents/places.ts";
import { type Config, toAgent } from "./config/config.ts";
import { loadConfig } from "./config/load.ts";
import { type ConfigProblem, formatProblem } from "./config/problem.ts";
import { declaredSecrets } from "./config/secret-settings.ts";
import { unsetVariables } from "./config/variables.ts";
import { type DetectOptions, detectAgents, offlineAgent } from "./harnesses/detect.ts";

export type Settings = {
  config: Config;
  files: string[];
  /** Subfolders of the agent folders, which are watched too. */
  agentFolders?: string[];
  /** Agents with a harness of their own come first, the preferred one at the front. */
  agents: AgentProfile[];
  choice: AgentChoice;
  /** Problems in agent files. Unlike a problem in the configuration, a bad agent file disables only its agent. */
  diagnostics: AgentDiagnostic[];
  /** Settings that are never displayed because their plugin declares them as secret. */
  declaredSecrets: ReadonlySet<string>;
};

export type SettingsOptions = {
  root: string;
  env: Readonly<Record<string, string | undefined>>;
  /** The user's home folder, which contains `.aegis/agents`. */
  home: string;
  agentFiles: AgentFiles;
  harnesses: readonly string[];
  findModel: () => Promise<{ model: string; why: string } | null>;
  probe: DetectOptions["probe"];
  /** The agent requested on the command line. It takes precedence over the configured default. */
  agent?: string | undefined;
};

/** A longer list would hide the problems of the configuration. */
const brokenAtMost = 5;

export type SettingsResult = { settings: Settings; problems: [] } | { settings: null; problems: string[] };

/** Reads all files again. Returns no settings if there is any problem, so partly valid settings never apply. */
export async function readSettings(options: SettingsOptions): Promise<SettingsResult> {
  const { root, home, harnesses, agentFiles } = options;
  const files = await agentFiles.load(agentPlaces(root, home));
  const named = [offlineAgent.slug, ...files.profiles.map((profile) => profile.slug)];
  const loaded = await loadConfig({ cwd: root, harnesses, agents: named });
  if (loaded.config === null) {
    // A name that seems to be missing often belongs to an unusable file.
    const broken = files.diagnostics.filter((diagnostic) => diagnostic.level === "error").slice(0, brokenAtMost);
    return { settings: null, problems: [...loaded.problems.map(formatProblem), ...broken.map(formatDiagnostic)] };
  }
  const { agents, choice } = await chooseAgents(loaded.config, files.profiles, options);
  const diagnostics = [
    ...files.diagnostics,
    ...loaded.warnings.map((warning) => fromConfig(root, warning)),
    ...(await unsetVariables(root, loaded.config, options.env)),
  ];
  const { config } = loaded;
  const secrets = await declaredSecrets(options, config);
  return {
    settings: {
      config,
      files: loaded.files,
      agentFolders: files.folders,
      agents,
      choice,
      diagnostics,
      declaredSecrets: secrets,
    },
    problems: [],
  };
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
  // Plugin agents are not loaded yet; their names contain the plugin's name.
  if (!wanted.includes(":") && !agents.some((agent) => agent.slug === wanted)) {
    const names = agents.map((agent) => agent.slug);
    throw new AegisError("not_found", `no agent "${wanted}"${didYouMean(wanted, names)}`, {
      hint: `agents here: ${names.join(", ")}`,
    });
  }
  const why =
    options.agent === undefined
      ? "it is the default agent of the project's configuration"
      : "it was requested on the command line";
  return { agents, choice: { slug: wanted, why } };
}

/** Every project has the offline agent, unless it declares an agent with that name. */
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
