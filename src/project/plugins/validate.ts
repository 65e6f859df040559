/** Validates a single plugin without a daemon: its manifest, its files and, on request, that its modules load. */
import { join } from "node:path";
import { AegisError } from "../../contract/errors.ts";
import type { PluginDetail, PluginDiagnostic, TakenNames } from "../../contract/plugin.ts";
import type { Environment } from "../../lib/child-env.ts";
import { findProjectRoot } from "../../lib/daemon-file.ts";
import { homeOf } from "../../lib/home.ts";
import { errorText } from "../../lib/log.ts";
import { ownConsent } from "../../lib/own-consent.ts";
import { packageVersion } from "../../lib/version.ts";
import { detailOf } from "../../runtime/plugins/entry.ts";
import { readAgents } from "../../runtime/plugins/files.ts";
import { type FoundPlugin, inspectPlugin } from "../../runtime/plugins/find.ts";
import { fingerprint } from "../../runtime/plugins/fingerprint.ts";
import { foreignImports } from "../../runtime/plugins/imports.ts";
import { planPlugins } from "../../runtime/plugins/plan.ts";
import { combine, readPath } from "../config/combine.ts";
import { diskFiles, readSources } from "../config/files.ts";
import { pluginDirs, pluginValues } from "./dirs.ts";
import { declaredNames, tryPlugin } from "./trial.ts";

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
  // The trial load reads the agents as well.
  const tries = options.load && refusal === null;
  if (tries) notes.push(...(await tried(found, options)));
  else if (found.manifest !== null) notes.push(...(await readAgents(found.manifest, found.root, [])).diagnostics);
  const diagnostics = [...found.diagnostics, ...notes];
  const ok = !diagnostics.some((diagnostic) => diagnostic.level === "error");
  const status = ok ? ("loaded" as const) : ("failed" as const);
  const entry = { found, status, reason: null, generation: null, loads: 0, key: "", diagnostics: notes };
  return { ok, plugin: detailOf(entry, null, { data_dir: "", log_file: "", hook_failures: [] }), place };
}

async function tried(found: FoundPlugin, { env, cwd, taken }: ValidateOptions): Promise<PluginDiagnostic[]> {
  const projectRoot = findProjectRoot(cwd);
  const { name } = found;
  const sources = await readSources(projectRoot, diskFiles).catch(() => null);
  const config = sources === null ? {} : combine(sources).value;
  const listed = readPath(config, ["plugin_dirs"]);
  const dirs = pluginDirs(projectRoot, homeOf(env), Array.isArray(listed) ? listed.map(String) : [usualDir]);
  const { diagnostics } = await tryPlugin(found, {
    projectRoot,
    env,
    values: pluginValues(readPath(config, ["plugins"]), name),
    needsSettings: false,
    taken: [...taken.filter(({ plugin }) => plugin !== name), ...(await declaredNames(dirs, name))],
    consent: async () => ownConsent("validate"),
  });
  return diagnostics;
}

/** Tests run separately and may import anything. */
function isTest(file: string): boolean {
  return /\.(?:test|spec)\.[cm]?[jt]s$/.test(file);
}

const nowhere = { file: null, line: null };
