/** Validates a single plugin without a daemon: its manifest, its files and, on request, that its modules load. */

import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { PluginDetail, PluginDiagnostic, TakenNames } from "@aegis/contract/plugin.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { findProjectRoot } from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { errorText } from "@aegis/lib/log.ts";
import { ownConsent } from "@aegis/lib/own-consent.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { detailOf } from "@aegis/plugins/entry.ts";
import { readAgents } from "@aegis/plugins/files.ts";
import { type FoundPlugin, findPlugins, inspectPlugin } from "@aegis/plugins/find.ts";
import { foreignImports } from "@aegis/plugins/foreign-imports.ts";
import { planPlugins } from "@aegis/plugins/plan.ts";
import { combine, readPath } from "../config/combine.ts";
import { diskFiles, readSources } from "../config/files.ts";
import { pluginDirs, pluginValues } from "./dirs.ts";
import { declaredNames, type Trial, tryPlugin } from "./trial.ts";

export type ValidateOptions = {
  load: boolean;
  env: Environment;
  cwd: string;
  /** The names that the plugins of a running daemon provide. */
  taken: readonly TakenNames[];
};

const usualDir = join(".aegis", "plugins");

export async function validatePlugin(
  place: string,
  options: ValidateOptions,
): Promise<{ ok: boolean; plugin: PluginDetail; place: string }> {
  const found = await inspectPlugin(place).catch((error: unknown) => {
    throw new AegisError("not_found", `no plugin at ${place}: ${errorText(error)}`);
  });
  const notes: PluginDiagnostic[] = [];
  const error = (message: string, at: { file: string | null; line: number | null } = nowhere) =>
    notes.push({ level: "error", file: at.file, line: at.line, message });
  const isEmpty = found.manifest?.format === "none" && found.modules.length === 0;
  if (isEmpty) error("expected plugin.toml, plugin.json or a module; there is nothing to load");
  const alone = { ...found, manifest: found.manifest && { ...found.manifest, requires: {} } };
  const [planned] = planPlugins([alone], { enabled: true, deny: [], version: packageVersion() });
  const refusal = planned?.refusal ?? null;
  const isTold = found.diagnostics.some((diagnostic) => diagnostic.level === "error");
  if (refusal !== null && !isTold) error(refusal.reason);
  notes.push(...(await foreignImports(found)));
  // Without its modules, nothing of the plugin runs, but its agents, programs, schemas and names are checked.
  const trial = refusal === null ? await tried(options.load ? found : { ...found, modules: [] }, options) : null;
  const before = [...found.diagnostics, ...notes];
  if (trial !== null) notes.push(...trial.diagnostics);
  else if (found.manifest !== null) notes.push(...(await readAgents(found.manifest, found.root, [])).diagnostics);
  const isError = ({ level }: PluginDiagnostic) => level === "error";
  const ok = ![...found.diagnostics, ...notes].some(isError);
  // Otherwise an error of the trial is about a part that is left out.
  const status = refusal !== null || trial?.failed === true || before.some(isError) ? "failed" : "loaded";
  const entry = { found, status, reason: null, generation: null, loads: 0, key: "", diagnostics: notes } as const;
  return { ok, plugin: detailOf(entry, null, { data_dir: "", log_file: "", hook_failures: [] }), place };
}

/** All plugins of a project's folders. Runs nothing of them. */
export async function validatePlugins({ root, env }: { root: string; env: Environment }): Promise<PluginDetail[]> {
  const options = { load: false, env, cwd: root, taken: [] };
  const checked: PluginDetail[] = [];
  for (const { place } of await findPlugins(await projectDirs(root, env)))
    checked.push((await validatePlugin(place, options)).plugin);
  return checked;
}

async function projectDirs(root: string, env: Environment): Promise<string[]> {
  const sources = await readSources(root, diskFiles).catch(() => null);
  const listed = readPath(sources === null ? {} : combine(sources).value, ["plugin_dirs"]);
  return pluginDirs(root, homeOf(env), Array.isArray(listed) ? listed.map(String) : [usualDir]);
}

async function tried(found: FoundPlugin, { env, cwd, taken }: ValidateOptions): Promise<Trial> {
  const projectRoot = findProjectRoot(cwd);
  const { name } = found;
  const sources = await readSources(projectRoot, diskFiles).catch(() => null);
  const config = sources === null ? {} : combine(sources).value;
  const dirs = await projectDirs(projectRoot, env);
  return tryPlugin(found, {
    projectRoot,
    env,
    values: pluginValues(readPath(config, ["plugins"]), name),
    needsSettings: false,
    taken: [...taken.filter(({ plugin }) => plugin !== name), ...(await declaredNames(dirs, name))],
    consent: async () => ownConsent("validate"),
  });
}

const nowhere = { file: null, line: null };
