/** Validates a single plugin without a daemon: its manifest, its files and, on request, that its modules load. */

import { readFile, realpath, stat } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, extname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
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
import { fingerprint } from "@aegis/plugins/fingerprint.ts";
import { planPlugins } from "@aegis/plugins/plan.ts";
import { type Boundary, isPartOf } from "@aegis/plugins/worker/boundary.ts";
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
  const { files } = await fingerprint(found.single ?? found.root);
  const modules = found.manifest?.has_modules === true ? files.filter((file) => !isTest(file)) : [];
  notes.push(...(await foreignImports(found, modules)));
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

/** Tests run separately and may import anything. */
function isTest(file: string): boolean {
  return /\.(?:test|spec)\.[cm]?[jt]s$/.test(file);
}

const nowhere = { file: null, line: null };

const scripts: readonly string[] = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];
/** Statements start a line. Calls may appear anywhere, even in comments or strings, so they are only a warning. */
const statement = /^[ \t]*(?:import|export)\b(?:[^;'"`]*?\bfrom)?\s*["']([^"'\n]+)["']/gm;
const call = /\b(?:import|require)\s*\(\s*["']([^"'\n]+)["']/g;

/**
 * Returns a diagnostic for each import of these files that leaves the folder, without running the plugin. The worker
 * refuses them in any case.
 */
async function foreignImports(boundary: Boundary, files: readonly string[]): Promise<PluginDiagnostic[]> {
  const found: PluginDiagnostic[] = [];
  for (const file of files.filter((path) => scripts.includes(extname(path)))) {
    const text = await readFile(file, "utf8").catch(() => "");
    for (const [pattern, level] of [
      [statement, "error"],
      [call, "warning"],
    ] as const) {
      for (const { 1: specifier = "", index } of text.matchAll(pattern)) {
        const problem = await leadsOut(boundary, file, specifier);
        const line = text.slice(0, index).split("\n").length;
        if (problem !== null) found.push({ level, file: file.slice(boundary.root.length + 1), line, message: problem });
      }
    }
  }
  return found;
}

async function leadsOut(boundary: Boundary, file: string, specifier: string): Promise<string | null> {
  if (specifier === "aegis" || specifier.startsWith("aegis/") || specifier.startsWith("#") || isBuiltin(specifier))
    return null;
  const isPath = /^\.\.?(?:\/|$)/.test(specifier) || isAbsolute(specifier) || specifier.startsWith("file:");
  if (!isPath) {
    if (/^[a-z]+:/.test(specifier)) return `${JSON.stringify(specifier)} is not a file of the plugin`;
    const name = specifier
      .split("/")
      .slice(0, specifier.startsWith("@") ? 2 : 1)
      .join("/");
    const isThere = await stat(join(boundary.root, "node_modules", name)).then(
      () => true,
      () => false,
    );
    return isThere ? null : `the package "${name}" is not in the plugin's own node_modules`;
  }
  const path = specifier.startsWith("file:") ? fileURLToPath(specifier) : resolve(dirname(file), specifier);
  const real = await realpath(path).catch(() => path);
  return isPartOf(boundary, real) ? null : `${JSON.stringify(specifier)} leads out of the plugin's folder (to ${real})`;
}
