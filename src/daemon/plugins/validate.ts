/** Checks a plugin by itself, without a daemon: its manifest, its files and, when asked to, that its modules load. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AegisError } from "../../contract/errors.ts";
import type { PluginDetail, PluginDiagnostic } from "../../contract/plugin.ts";
import { childEnv, type Environment } from "../../lib/child-env.ts";
import { errorText } from "../../lib/log.ts";
import { packageVersion } from "../../lib/version.ts";
import { resolveConfig } from "../../runtime/plugins/config.ts";
import { detailOf } from "../../runtime/plugins/entry.ts";
import { readAgents } from "../../runtime/plugins/files.ts";
import { type FoundPlugin, inspectPlugin } from "../../runtime/plugins/find.ts";
import { apiEntries } from "../../runtime/plugins/host/entries.ts";
import { PluginLoadError } from "../../runtime/plugins/host/errors.ts";
import { defaultWorkerLimits, PluginWorker } from "../../runtime/plugins/host/worker.ts";
import { planPlugins } from "../../runtime/plugins/plan.ts";

export type ValidateOptions = { load: boolean; env: Environment; cwd: string };

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
  if (found.manifest !== null) notes.push(...(await readAgents(found.manifest, found.root, [])).diagnostics);
  if (options.load && refusal === null) await tryLoading(found, options, error);
  const diagnostics = [...found.diagnostics, ...notes];
  const ok = !diagnostics.some((diagnostic) => diagnostic.level === "error");
  const status = ok ? ("loaded" as const) : ("failed" as const);
  const entry = { found, status, reason: null, generation: null, loads: 0, key: "", diagnostics: notes };
  return { ok, plugin: detailOf(entry, { data_dir: "", log_file: "" }), place };
}

const nowhere = { file: null, line: null };

async function tryLoading(
  { name, root, modules, manifest }: FoundPlugin,
  { env, cwd }: ValidateOptions,
  error: (message: string, at?: { file: string | null; line: number | null }) => void,
): Promise<void> {
  if (manifest === null || modules.length === 0) return;
  const folder = await mkdtemp(join(tmpdir(), "aegis-validate-"));
  const { config } = resolveConfig(manifest, {}, env);
  const start = { plugin: name, root, modules, projectRoot: cwd, dataDir: folder, config, api: apiEntries() };
  try {
    const { worker } = await PluginWorker.start({
      start: { ...start, cacheDir: join(folder, "cache") },
      env: childEnv(env, []),
      limits: defaultWorkerLimits,
      log: () => {},
    });
    await worker.terminate("it was only tried");
  } catch (thrown) {
    error(errorText(thrown), thrown instanceof PluginLoadError ? thrown : nowhere);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
