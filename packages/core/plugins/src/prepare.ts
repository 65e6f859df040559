/** Builds the next generation of a plugin beside the running one, or returns the reason why it cannot. */
import type { RunId } from "@aegis/contract/ids.ts";
import type { PluginDiagnostic, PluginStatus } from "@aegis/contract/plugin.ts";
import { childEnv, type Environment } from "@aegis/lib/child-env.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { type PluginConfig, resolveConfig } from "./config.ts";
import type { PluginTables } from "./contribute.ts";
import type { DeclaredParts } from "./declared.ts";
import type { Entry } from "./entry.ts";
import type { FindSkills } from "./files.ts";
import type { FoundPlugin } from "./find.ts";
import { fingerprint } from "./fingerprint.ts";
import { Generation, type GenerationOptions, pluginPlaces } from "./generation.ts";
import { PluginLoadError, placeText } from "./host/errors.ts";
import type { ConfineTool } from "./host/executable.ts";
import type { StartQueue } from "./host/start-queue.ts";
import type { Stripper } from "./host/stripper.ts";
import type { WorkerLimits } from "./host/worker.ts";
import type { PluginLogs } from "./log.ts";
import type { PlannedPlugin } from "./plan.ts";
import { type PluginPlace, pluginHash, type TrustVerdict, valueHash } from "./trust/trust.ts";

export type LoaderOptions = {
  projectRoot: string;
  stateDir: string;
  /** The cache of compiled plugin code. It lies outside the project because it runs in place of the trusted code. */
  cacheDir: string;
  env: Environment;
  processes: Processes;
  confine: ConfineTool;
  tables: PluginTables;
  logs: PluginLogs;
  stripper: Stripper;
  starts: StartQueue;
  declared: DeclaredParts;
  /** The version of Aegis. */
  version: string;
  log: Logger;
  limits: () => WorkerLimits;
  /** A plugin's settings in the project, and the location of each. */
  values: (plugin: string) => Readonly<Record<string, unknown>>;
  valuePlace: (plugin: string, key: string) => Promise<{ file: string | null; line: number | null }>;
  mayRun: (plugin: PluginPlace) => Promise<TrustVerdict>;
  /** Called before each start of plugin code. Throws `forbidden`. */
  consent: (plugin: PluginPlace) => Promise<Consent>;
  findSkills: FindSkills;
  /** Redacts a value from everything that is persisted. */
  addSecret: (value: string) => void;
  /** Replays a run with the workflow body that is then registered. */
  restartRun: (run: RunId, reason: string) => void;
};

export type LoadedPlugin = { found: FoundPlugin; key: string; folders: string[] } & (
  | { kind: "unchanged"; generation: null }
  | { kind: "loaded"; generation: Generation }
  | {
      kind: "refused";
      generation: null;
      status: Exclude<PluginStatus, "loading" | "loaded" | "restarting">;
      reason: string;
      diagnostics: PluginDiagnostic[];
    }
);

export type PrepareOptions = {
  order: number;
  /** Loads the plugin even if nothing has changed. */
  force: boolean;
  /** Waits for its code even if its declarations are known. */
  eager: boolean;
};

type Watcher = Pick<GenerationOptions, "onDeath" | "onRestored" | "signal">;

/** Never rejects: the result contains the failure. */
export async function prepare(
  { found, refusal }: PlannedPlugin,
  before: Entry | null,
  { order, force, eager }: PrepareOptions,
  options: LoaderOptions,
  watcher: Watcher,
): Promise<LoadedPlugin> {
  const seen = await fingerprint(found.place).catch(() => ({ key: "", folders: [], files: [] }));
  const values = options.values(found.name);
  const key = `${seen.key}:${JSON.stringify([values, refusal])}`;
  const about = { found, key, folders: seen.folders };
  const refuse = (
    status: "failed" | "untrusted" | "disabled",
    reason: string,
    diagnostics: PluginDiagnostic[] = [],
  ): LoadedPlugin => ({ ...about, kind: "refused", generation: null, status, reason, diagnostics });
  const { manifest } = found;
  if (refusal !== null) return before?.key === key ? unchanged(about) : refuse(refusal.status, refusal.reason);
  if (manifest === null) return refuse("failed", "it has no manifest");
  try {
    // Trust can change without any other change.
    const verdict = await options.mayRun({ name: found.name, dir: found.place });
    if (!verdict.allowed) return refuse("untrusted", `${verdict.message}; ${verdict.fix}`);
    // A failed plugin is retried only after a change.
    if (!force && before?.key === key && before.status !== "untrusted") return unchanged(about);
    const config = resolveConfig(manifest, values, options.env);
    const notes = await placedProblems(found.name, config, options);
    const fault = notes.find((diagnostic) => diagnostic.level === "error");
    if (fault !== undefined) return refuse("failed", placed(fault), notes);
    if (found.modules.length > 0) await options.stripper.prepare(seen.files, options.cacheDir);
    const inputs = found.modules.length === 0 ? null : await inputsOf(found, config, options);
    const known = inputs === null || eager ? null : await options.declared.find(found.place, inputs);
    const background = known === null ? null : { declared: known, starts: options.starts };
    const generation = await load({ found, manifest, config, notes, order, background }, options, watcher);
    if (inputs !== null && known === null)
      await options.declared.keep(found.place, inputs, generation.part.contributions, config.secrets);
    return { ...about, kind: "loaded", generation };
  } catch (error) {
    const { reason, diagnostics } = faultOf(error);
    options.logs.add(found.name, "error", `could not be loaded: ${reason}`);
    return refuse("failed", reason, diagnostics);
  }
}

/** Describes a failure for people, with its location if known. */
export function faultOf(error: unknown): { reason: string; diagnostics: PluginDiagnostic[] } {
  const { file, line } = error instanceof PluginLoadError ? error : { file: null, line: null };
  const fault: PluginDiagnostic = { level: "error", file, line, message: errorText(error) };
  return { reason: placed(fault), diagnostics: [fault] };
}

function load(
  about: Pick<GenerationOptions, "found" | "manifest" | "config" | "notes" | "order" | "background">,
  options: LoaderOptions,
  watcher: Watcher,
): Promise<Generation> {
  const { found, config } = about;
  const places = pluginPlaces(options.stateDir);
  for (const secret of config.secrets) options.addSecret(secret);
  return Generation.load({
    ...about,
    projectRoot: options.projectRoot,
    dataDir: places.data(found.name),
    cacheDir: options.cacheDir,
    env: options.env,
    processes: options.processes,
    confine: options.confine,
    consent: () => options.consent({ name: found.name, dir: found.place }),
    findSkills: options.findSkills,
    limits: options.limits(),
    log: (level, text) => options.logs.add(found.name, level, text),
    restartRun: options.restartRun,
    ...watcher,
  });
}

/** Identifies everything that the declarations of a plugin may depend on. */
async function inputsOf(
  { name, place, modules }: FoundPlugin,
  { config, env }: PluginConfig,
  options: Pick<LoaderOptions, "env" | "projectRoot" | "version">,
): Promise<string> {
  const files = await pluginHash({ name, dir: place });
  const { projectRoot, version } = options;
  return valueHash({ version, files, place, modules, projectRoot, config, env: childEnv(options.env, [], env) });
}

function placedProblems(
  plugin: string,
  { problems }: PluginConfig,
  { valuePlace }: LoaderOptions,
): Promise<PluginDiagnostic[]> {
  return Promise.all(
    problems.map(async ({ level, key, message }) => {
      return { level, ...(await valuePlace(plugin, key)), message: `plugins.${plugin}.${key}: ${message}` };
    }),
  );
}

function unchanged(about: Pick<LoadedPlugin, "found" | "key" | "folders">): LoadedPlugin {
  return { ...about, kind: "unchanged", generation: null };
}

function placed(fault: PluginDiagnostic): string {
  return `${placeText(fault)}${fault.message}`;
}
