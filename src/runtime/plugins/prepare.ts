/** Builds the next generation of a plugin beside the one that runs, or says why there is none. */
import type { RunId } from "../../contract/ids.ts";
import type { PluginDiagnostic, PluginStatus } from "../../contract/plugin.ts";
import type { Environment } from "../../lib/child-env.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { Processes } from "../../lib/process.ts";
import { type PluginConfig, resolveConfig } from "./config.ts";
import type { Registries } from "./contribute.ts";
import type { Entry } from "./entry.ts";
import type { FoundPlugin } from "./find.ts";
import { fingerprint } from "./fingerprint.ts";
import { Generation, type GenerationOptions, pluginPlaces } from "./generation.ts";
import { PluginLoadError } from "./host/errors.ts";
import type { Stripper } from "./host/stripper.ts";
import type { WorkerLimits } from "./host/worker.ts";
import type { PluginLogs } from "./log.ts";
import type { Planned } from "./plan.ts";
import type { PluginPlace, Verdict } from "./trust/trust.ts";

export type LoaderOptions = {
  projectRoot: string;
  stateDir: string;
  env: Environment;
  processes: Processes;
  registries: Registries;
  logs: PluginLogs;
  stripper: Stripper;
  log: Logger;
  limits: () => WorkerLimits;
  /** The settings of a plugin as the project has them, and where each of them stands. */
  values: (plugin: string) => Readonly<Record<string, unknown>>;
  valuePlace: (plugin: string, key: string) => Promise<{ file: string | null; line: number | null }>;
  mayRun: (plugin: PluginPlace) => Promise<Verdict>;
  /** Keeps a value out of everything that is written down. */
  addSecret: (value: string) => void;
  /** Takes a run up again from its record with the body that is registered then. */
  restartRun: (run: RunId, reason: string) => void;
};

export type Loaded = { found: FoundPlugin; key: string; folders: string[] } & (
  | { kind: "unchanged"; generation: null }
  | { kind: "loaded"; generation: Generation }
  | {
      kind: "refused";
      generation: null;
      status: Exclude<PluginStatus, "loaded" | "restarting">;
      reason: string;
      diagnostics: PluginDiagnostic[];
    }
);

type Watcher = Pick<GenerationOptions, "onDeath" | "onRestored">;

/** Never rejects: what went wrong is in the answer. */
export async function prepare(
  { found, refusal }: Planned,
  before: Entry | null,
  { order, force }: { order: number; force: boolean },
  options: LoaderOptions,
  watcher: Watcher,
): Promise<Loaded> {
  const seen = await fingerprint(found.place).catch(() => ({ key: "", folders: [], files: [] }));
  const values = options.values(found.name);
  const key = `${seen.key}:${JSON.stringify([values, refusal])}`;
  const about = { found, key, folders: seen.folders };
  const refuse = (
    status: "failed" | "untrusted" | "disabled",
    reason: string,
    diagnostics: PluginDiagnostic[] = [],
  ): Loaded => ({ ...about, kind: "refused", generation: null, status, reason, diagnostics });
  const { manifest } = found;
  if (refusal !== null) return before?.key === key ? unchanged(about) : refuse(refusal.status, refusal.reason);
  if (manifest === null) return refuse("failed", "it has no manifest");
  try {
    // Trust is given and taken back without anything else having changed.
    const verdict = await options.mayRun({ name: found.name, dir: found.place });
    if (!verdict.allowed) return refuse("untrusted", `${verdict.message}; ${verdict.fix}`);
    // One that failed is tried again only when something changed.
    if (!force && before?.key === key && before.status !== "untrusted") return unchanged(about);
    const config = resolveConfig(manifest, values, options.env);
    const notes = await placedProblems(found.name, config, options);
    const fault = notes.find((diagnostic) => diagnostic.level === "error");
    if (fault !== undefined) return refuse("failed", placed(fault), notes);
    if (found.modules.length > 0) await options.stripper.prepare(seen.files, pluginPlaces(options.stateDir).cache);
    const generation = await load({ found, manifest, config, notes, order }, before, options, watcher);
    return { ...about, kind: "loaded", generation };
  } catch (error) {
    const { reason, diagnostics } = faultOf(error);
    options.logs.add(found.name, "error", `could not be loaded: ${reason}`);
    return refuse("failed", reason, diagnostics);
  }
}

/** What went wrong, for a person, with its place where that is known. */
export function faultOf(error: unknown): { reason: string; diagnostics: PluginDiagnostic[] } {
  const { file, line } = error instanceof PluginLoadError ? error : { file: null, line: null };
  const fault: PluginDiagnostic = { level: "error", file, line, message: errorText(error) };
  return { reason: placed(fault), diagnostics: [fault] };
}

function load(
  about: Pick<GenerationOptions, "found" | "manifest" | "config" | "notes" | "order">,
  before: Entry | null,
  options: LoaderOptions,
  watcher: Watcher,
): Promise<Generation> {
  const { found, config } = about;
  const places = pluginPlaces(options.stateDir);
  for (const secret of config.secrets) options.addSecret(secret);
  return Generation.load({
    ...about,
    number: (before?.loads ?? 0) + 1,
    projectRoot: options.projectRoot,
    dataDir: places.data(found.name),
    cacheDir: places.cache,
    env: options.env,
    processes: options.processes,
    limits: options.limits(),
    log: (level, text) => options.logs.add(found.name, level, text),
    restartRun: options.restartRun,
    ...watcher,
  });
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

function unchanged(about: Pick<Loaded, "found" | "key" | "folders">): Loaded {
  return { ...about, kind: "unchanged", generation: null };
}

function placed({ file, line, message }: PluginDiagnostic): string {
  return file === null ? message : `${file}${line === null ? "" : `:${line}`}: ${message}`;
}
