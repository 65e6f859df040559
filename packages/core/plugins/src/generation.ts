/**
 * One load of a plugin: its code is started, its files are read, and its contributions are registered until it is
 * retired.
 */

import { stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import type { RunId } from "@aegis/contract/ids.ts";
import type { ExecutableTool, PluginDiagnostic, PluginManifest } from "@aegis/contract/plugin.ts";
import { childEnv, type Environment } from "@aegis/lib/child-env.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import { makePrivateDir } from "@aegis/lib/files.ts";
import { findProgram } from "@aegis/lib/find-program.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { Processes } from "@aegis/lib/process.ts";
import type { LogLevel } from "@aegis/plugin-api/context.ts";
import { channelSettings, type PluginConfig } from "./config.ts";
import { type ContributedParts, contribute, type PluginContribution, type PluginTables } from "./contribute.ts";
import { type FindSkills, readAgents, readCommands, readSkills } from "./files.ts";
import type { FoundPlugin } from "./find.ts";
import { CodeHost, type CodeHostOptions } from "./host/code-host.ts";
import { apiEntries } from "./host/entries.ts";
import type { Death } from "./host/errors.ts";
import { type ConfineTool, placeVariables } from "./host/executable.ts";
import type { StartQueue } from "./host/start-queue.ts";
import type { WorkerLimits } from "./host/worker.ts";
import type { Contributions, Fault } from "./protocol.ts";

export type GenerationOptions = {
  found: FoundPlugin;
  manifest: PluginManifest;
  config: PluginConfig;
  /** Warnings about its settings. */
  notes: readonly PluginDiagnostic[];
  order: number;
  projectRoot: string;
  dataDir: string;
  cacheDir: string;
  env: Environment;
  processes: Processes;
  confine: ConfineTool;
  consent: () => Promise<Consent>;
  findSkills: FindSkills;
  limits: WorkerLimits;
  /** Starts its worker in the background: `declared` is what the same code declared when it was last loaded. */
  background: { declared: Contributions; starts: StartQueue } | null;
  log: (level: LogLevel, text: string) => void;
  onDeath: (generation: Generation, death: Death, retryMs: number | null) => void;
  onRestored: (generation: Generation) => void;
  restartRun: (run: RunId, reason: string) => void;
  /** Ends code that is still being loaded. */
  signal?: AbortSignal;
};

const nothing: Contributions = {
  hooks: [],
  tools: [],
  workflows: [],
  skills: [],
  agents: [],
  commands: [],
  reducers: [],
  channels: [],
  notes: [],
  faults: [],
};

export class Generation {
  readonly options: GenerationOptions;
  readonly #diagnostics: readonly PluginDiagnostic[];
  #contributed: ContributedParts | null = null;
  #part: PluginContribution;
  #failed = false;
  #settling: Promise<void> | null = null;

  /** Throws `PluginLoadError`, with nothing left running. Does not wait for code whose declarations are known. */
  static async load(options: GenerationOptions): Promise<Generation> {
    const { found, manifest, config, order, dataDir, log, env, confine, consent } = options;
    await makePrivateDir(dataDir);
    const holder: { generation: Generation | null } = { generation: null };
    const code = found.modules.length === 0 ? null : await openCode(options, holder);
    const contributions = code?.contributions ?? nothing;
    const agents = await readAgents(manifest, found.root, contributions.agents);
    const pages = await readCommands(manifest, found.root, contributions.commands);
    const programs = await findPrograms(manifest.tools, found.root, env);
    const skills = await readSkills(manifest, found.root, options.findSkills);
    const part: PluginContribution = {
      plugin: found.name,
      order,
      contributions,
      code,
      executables: programs.found,
      running: {
        root: found.root,
        config: config.config,
        dataDir,
        cacheDir: options.cacheDir,
        env,
        confine,
        consent,
      },
      agents: agents.profiles,
      agentFaults: agents.faults,
      skills: skills.skills,
      commands: pages.commands,
      log,
    };
    const notes = [
      ...pages.diagnostics,
      ...[...programs.faults, ...contributions.faults].map((fault) => ({ level: "error" as const, ...fault })),
      ...skills.diagnostics,
      ...agentNotes(part),
      ...channelNotes(found.name, config.config[channelSettings], contributions),
      ...contributions.notes.map((note) => ({ ...note, file: null, line: null })),
    ];
    const generation = new Generation(options, part, [...options.notes, ...agents.diagnostics, ...notes]);
    holder.generation = generation;
    return generation;
  }

  private constructor(options: GenerationOptions, part: PluginContribution, diagnostics: readonly PluginDiagnostic[]) {
    this.options = options;
    this.#part = part;
    this.#diagnostics = diagnostics;
  }

  get part(): PluginContribution {
    return this.#part;
  }

  /** Includes tools that could not be registered. */
  get diagnostics(): readonly PluginDiagnostic[] {
    const faults = this.#contributed?.faults ?? [];
    return [...this.#diagnostics, ...faults.map((fault) => ({ level: "error" as const, ...fault }))];
  }

  /** False for a tool that could not be registered. */
  hasTool(name: string): boolean {
    return this.#contributed === null || this.#contributed.tools.has(name);
  }

  /**
   * Calls back once with the result of loading its code in the background. Hooks wait until the callback has finished,
   * so that they find the parts that the callback registers or removes.
   */
  whenLoaded(settle: (error: unknown) => void | Promise<void>): void {
    const { code } = this.part;
    if (code === null) return;
    const settled = code
      .loaded()
      .then(
        () => settle(null),
        (error: unknown) => settle(error),
      )
      .finally(() => {
        this.#settling = null;
      });
    this.#settling = settled;
  }

  /** Resolves when the code is loaded or has failed to load; null if it is not being loaded. */
  get settling(): Promise<void> | null {
    return this.#settling;
  }

  /** False if its worker keeps crashing. */
  get isWorking(): boolean {
    return !this.#failed;
  }

  /** Runs whose body is executing in its worker. */
  get runs(): RunId[] {
    return this.part.code?.runs ?? [];
  }

  /** Throws `conflict` for a name in use, unless it is a tool's, and registers nothing. */
  register(tables: PluginTables): void {
    this.unregister();
    this.#contributed = contribute({ ...this.part, loading: () => this.#hurried() }, tables);
  }

  #hurried(): Promise<void> | null {
    if (this.#settling !== null) this.part.code?.hurry();
    return this.#settling;
  }

  unregister(): void {
    this.#contributed?.undo();
    this.#contributed = null;
  }

  /** Changes its position among the plugins. */
  moveTo(order: number, tables: PluginTables): void {
    if (this.#part.order === order) return;
    this.#part = { ...this.#part, order };
    if (this.#contributed !== null && !this.#failed) this.register(tables);
  }

  /** Called when its worker keeps crashing. The gate enforcer then refuses on behalf of its gates. */
  fail(): void {
    this.#failed = true;
    this.unregister();
  }

  /** Ends its code after the running calls have ended. */
  async retire(): Promise<void> {
    await this.part.code?.retire();
  }

  async close(): Promise<void> {
    this.unregister();
    await this.part.code?.close();
  }
}

function openCode(options: GenerationOptions, holder: { generation: Generation | null }): Promise<CodeHost> {
  const { found, config, projectRoot, dataDir, cacheDir, env, limits, log, processes } = options;
  const host: CodeHostOptions = {
    start: {
      plugin: found.name,
      root: found.root,
      modules: found.modules,
      single: found.single,
      projectRoot,
      dataDir,
      config: config.config,
      api: apiEntries(),
      cacheDir,
    },
    env: childEnv(env, [], { ...config.env, ...placeVariables({ dataDir, cacheDir }) }),
    mark: () => processes.mark(),
    limits,
    log,
    consent: options.consent,
    onDeath: (death, retryMs) => {
      log("error", retryMs === null ? `${death.message}; it is not restarted` : `${death.message}; it is restarted`);
      if (holder.generation !== null) options.onDeath(holder.generation, death, retryMs);
    },
    onRestored: () => {
      if (holder.generation !== null) options.onRestored(holder.generation);
    },
    restartRun: options.restartRun,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  };
  const { background } = options;
  if (background === null) return CodeHost.open(host);
  return Promise.resolve(CodeHost.begin(host, background.declared, background.starts));
}

/** The folders in which Aegis keeps data for plugins. */
export function pluginPlaces(stateDir: string) {
  return {
    data: (plugin: string) => join(stateDir, "plugins", plugin),
    logs: join(stateDir, "plugin-logs"),
  };
}

/** Reports settings for channels that the plugin does not bring. */
function channelNotes(plugin: string, settings: unknown, { channels }: Contributions): PluginDiagnostic[] {
  // Without channels, the key is a setting of the plugin's own.
  if (channels.length === 0 || settings === undefined) return [];
  const key = `plugins.${plugin}.${channelSettings}`;
  const note = (message: string): PluginDiagnostic => ({ level: "warning", file: null, line: null, message });
  if (!isRecord(settings)) return [note(`${key}: expected a map of channel names to their settings`)];
  const names = channels.map(({ name }) => name);
  return Object.keys(settings)
    .filter((name) => !names.includes(name))
    .map((name) => note(`${key}.${name}: the plugin has no such channel${didYouMean(name, names)}`));
}

/** The programs that a manifest lists as tools. A tool whose program is missing is skipped. */
async function findPrograms(
  tools: readonly ExecutableTool[],
  root: string,
  env: Environment,
): Promise<{ found: ExecutableTool[]; faults: Fault[] }> {
  const found: ExecutableTool[] = [];
  const faults: Fault[] = [];
  for (const tool of tools) {
    const problem = await programProblem(tool.command, root, env);
    if (problem === null) found.push(tool);
    else faults.push({ message: `the tool "${tool.name}" is left out: ${problem}`, file: null, line: null });
  }
  return { found, faults };
}

/** The reason why a program cannot start, or null. A name without a slash is looked up on the PATH. */
async function programProblem(command: string, root: string, env: Environment): Promise<string | null> {
  if (command.includes("/")) {
    const path = resolve(root, command);
    const where = isAbsolute(command) ? "" : " in the plugin's folder";
    if (!(await isFile(path))) return `its program ${command} was not found${where}`;
    return (await findProgram(path, "")) === null ? `its program ${command} is not executable (chmod +x)` : null;
  }
  const found = await findProgram(command, env.PATH ?? "").catch(() => null);
  return found === null ? `its program ${command} is not on the PATH; reload the plugin once it is installed` : null;
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() === true;
}

/** Reports tools that require an agent that may never be able to call them. */
function agentNotes({ plugin, contributions, executables, agents }: PluginContribution): PluginDiagnostic[] {
  const own = new Set(agents.flatMap(({ slug }) => [slug, `${plugin}:${slug}`]));
  const named = [
    ...contributions.tools.map(({ name, requiredAgent }) => ({ name, agent: requiredAgent })),
    ...executables.map(({ name, required_agent }) => ({ name, agent: required_agent })),
  ];
  return named.flatMap(({ name, agent }) => {
    if (agent === null || own.has(agent)) return [];
    const without = agent.includes(":")
      ? "an agent of another plugin can call it only if its own tools name it"
      : "without an agent of that name, the tool cannot be called";
    const message = `the tool "${name}" requires the agent "${agent}", which this plugin does not have; ${without}`;
    return [{ level: "warning" as const, file: null, line: null, message }];
  });
}
