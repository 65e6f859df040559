/** One load of a plugin: its code started, its files read, its parts in the registries until it is retired. */
import { join } from "node:path";
import type { RunId } from "../../contract/ids.ts";
import type { PluginDiagnostic, PluginManifest } from "../../contract/plugin.ts";
import { childEnv, type Environment } from "../../lib/child-env.ts";
import { makePrivateDir } from "../../lib/files.ts";
import type { Processes } from "../../lib/process.ts";
import type { PluginConfig } from "./config.ts";
import { type Contribution, contribute, contributeRefusals, type Registries, type Undo } from "./contribute.ts";
import { readAgents, readCommands, readSkills } from "./files.ts";
import type { FoundPlugin } from "./find.ts";
import { CodeHost } from "./host/code-host.ts";
import { apiEntries } from "./host/entries.ts";
import type { Death } from "./host/errors.ts";
import type { WorkerLimits } from "./host/worker.ts";
import type { Contributions, LogLevel } from "./protocol.ts";

export type GenerationOptions = {
  found: FoundPlugin;
  manifest: PluginManifest;
  config: PluginConfig;
  /** What is odd about its settings. */
  notes: readonly PluginDiagnostic[];
  order: number;
  number: number;
  projectRoot: string;
  dataDir: string;
  cacheDir: string;
  env: Environment;
  processes: Processes;
  limits: WorkerLimits;
  log: (level: LogLevel, text: string) => void;
  onDeath: (generation: Generation, death: Death, retryMs: number | null) => void;
  onRestored: (generation: Generation) => void;
  restartRun: (run: RunId, reason: string) => void;
};

const nothing: Contributions = {
  ...{ hooks: [], tools: [], workflows: [], skills: [], agents: [], commands: [], reducers: [], notes: [] },
};

export class Generation {
  readonly options: GenerationOptions;
  readonly diagnostics: readonly PluginDiagnostic[];
  #part: Contribution;
  #undo: Undo | null = null;
  #failed = false;

  /** Throws `PluginLoadError`; nothing is left running then. */
  static async load(options: GenerationOptions): Promise<Generation> {
    const { found, manifest, config, order, dataDir, log, env, processes } = options;
    await makePrivateDir(dataDir);
    const holder: { generation: Generation | null } = { generation: null };
    const code = found.modules.length === 0 ? null : await openCode(options, holder);
    const contributions = code?.contributions ?? nothing;
    const agents = await readAgents(manifest, found.root, contributions.agents);
    const pages = await readCommands(manifest, found.root, contributions.commands);
    const part: Contribution = {
      plugin: found.name,
      order,
      contributions,
      code,
      executables: manifest.tools,
      running: { root: found.root, config: config.config, env, processes },
      agents: agents.profiles,
      agentFaults: agents.faults,
      skills: await readSkills(manifest, found.root),
      commands: pages.commands,
      log,
    };
    const notes = [
      ...pages.diagnostics,
      ...contributions.notes.map((message) => ({ level: "info" as const, file: null, line: null, message })),
    ];
    const generation = new Generation(options, part, [...options.notes, ...agents.diagnostics, ...notes]);
    holder.generation = generation;
    return generation;
  }

  private constructor(options: GenerationOptions, part: Contribution, diagnostics: readonly PluginDiagnostic[]) {
    this.options = options;
    this.#part = part;
    this.diagnostics = diagnostics;
  }

  get part(): Contribution {
    return this.#part;
  }

  /** It is not one that keeps dying. */
  get isWorking(): boolean {
    return !this.#failed;
  }

  /** Runs whose body is under way in its worker. */
  get runs(): RunId[] {
    return this.part.code?.runs ?? [];
  }

  /** Throws `conflict` for a name that is taken; nothing is registered then. */
  register(registries: Registries): void {
    this.unregister();
    this.#undo = contribute(this.part, registries);
  }

  unregister(): void {
    this.#undo?.();
    this.#undo = null;
  }

  /** Another place among the plugins. */
  moveTo(order: number, registries: Registries): void {
    if (this.#part.order === order) return;
    this.#part = { ...this.#part, order };
    if (this.#undo !== null && !this.#failed) this.register(registries);
  }

  /** Leaves only what must refuse in its absence. */
  fail(registries: Registries, reason: string): void {
    this.#failed = true;
    this.unregister();
    this.#undo = contributeRefusals(this.part, registries, reason);
  }

  /** Ends its code when the calls under way have ended. */
  async retire(): Promise<void> {
    await this.part.code?.retire();
  }

  async close(): Promise<void> {
    this.unregister();
    await this.part.code?.close();
  }
}

function openCode(options: GenerationOptions, holder: { generation: Generation | null }): Promise<CodeHost> {
  const { found, config, projectRoot, dataDir, cacheDir, env, limits, log } = options;
  return CodeHost.open({
    start: {
      plugin: found.name,
      root: found.root,
      modules: found.modules,
      projectRoot,
      dataDir,
      config: config.config,
      api: apiEntries(),
      cacheDir,
    },
    env: childEnv(env, [], config.env),
    limits,
    log,
    onDeath: (death, retryMs) => {
      log(
        "error",
        retryMs === null ? `${death.message}; it is not started again` : `${death.message}; it is started again`,
      );
      if (holder.generation !== null) options.onDeath(holder.generation, death, retryMs);
    },
    onRestored: () => {
      if (holder.generation !== null) options.onRestored(holder.generation);
    },
    restartRun: options.restartRun,
  });
}

/** Where the parts of Aegis that keep something for plugins keep it. */
export function pluginPlaces(stateDir: string) {
  return {
    data: (plugin: string) => join(stateDir, "plugins", plugin),
    cache: join(stateDir, "plugin-cache"),
    logs: join(stateDir, "plugin-logs"),
  };
}
