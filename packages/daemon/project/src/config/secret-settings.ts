/** Determines which settings contain a secret and therefore belong in the local, private config file. */

import { join, resolve } from "node:path";
import type { PluginManifest } from "@aegis/contract/plugin.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { variablesIn } from "@aegis/lib/variables.ts";
import { findPlugins } from "@aegis/plugins/find.ts";
import { readPath } from "./combine.ts";
import type { Config } from "./config.ts";
import { diskFiles, readSources } from "./files.ts";
import { loadProject } from "./load.ts";
import { formatPath, type KeyPath } from "./problem.ts";
import type { KnownNames } from "./references.ts";
import { isChannelKey } from "./schema.ts";
import { looksSecret } from "./show.ts";

export type SecretQuestion = KnownNames & { root: string; env: Environment };

/** The plugin settings that plugins declare as secret, as `plugins.<name>.<key>`. */
export async function declaredSecrets(
  { root, env }: Pick<SecretQuestion, "root" | "env">,
  config: Pick<Config, "plugins" | "plugin_dirs">,
): Promise<ReadonlySet<string>> {
  const names = new Set(Object.keys(config.plugins).filter((name) => isRecord(config.plugins[name])));
  names.delete("limits");
  if (names.size === 0) return new Set();
  const schemas = await pluginSchemas(root, env, config.plugin_dirs, names);
  return new Set(
    [...schemas].flatMap(([name, schema]) =>
      Object.entries(schema).flatMap(([key, { secret }]) => (secret ? [formatPath(["plugins", name, key])] : [])),
    ),
  );
}

/**
 * The key, or the keys below it, that would hold a secret if the path got this value. The name of a variable is not a
 * secret.
 */
export async function secretKeys(project: SecretQuestion, path: KeyPath, value: unknown): Promise<string[]> {
  const leaves = leavesOf(path, value);
  const plugins = new Set(leaves.flatMap(([at]) => (at[0] === "plugins" && at.length > 2 ? [String(at[1])] : [])));
  const { root, env, ...known } = project;
  const dirs = plugins.size === 0 ? [] : ((await loadProject(root, known, diskFiles)).config?.plugin_dirs ?? []);
  const schemas: Schemas = plugins.size === 0 ? new Map() : await pluginSchemas(root, env, dirs, plugins);
  return leaves
    .filter(([at, text]) => text !== "" && variablesIn(text).length === 0 && isSecretPlace(at, schemas))
    .map(([at]) => formatPath(at));
}

/** The files that may be in git and already have a value for the path. */
export async function sharedFilesWith(root: string, path: KeyPath): Promise<string[]> {
  const { main, overlays } = await readSources(root, diskFiles);
  return [main, ...overlays].flatMap((source) => {
    if (source === null || !source.prefix.every((segment, index) => path[index] === segment)) return [];
    return readPath(source.value, path.slice(source.prefix.length)) === undefined ? [] : [source.file];
  });
}

type Schemas = ReadonlyMap<string, PluginManifest["config_schema"]>;

/** Plugins declare their secrets. Everywhere else with free keys, the name of the key decides. */
function isSecretPlace(path: KeyPath, schemas: Schemas): boolean {
  const [section, name, key] = path.map(String);
  const last = String(path.at(-1));
  // These keys name a variable or a file.
  if (/_(?:env|file)$/.test(last)) return false;
  if (section === "plugins") return schemas.get(name ?? "")?.[key ?? ""]?.secret === true || looksSecret(last);
  if (section === "agents") return (key === "env" || key === "options") && looksSecret(last);
  return isChannelKey(section) && looksSecret(last);
}

function leavesOf(path: KeyPath, value: unknown): [KeyPath, string][] {
  if (typeof value === "string" || typeof value === "number") return [[path, String(value)]];
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(path, item));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => leavesOf([...path, key], item));
}

async function pluginSchemas(
  root: string,
  env: Environment,
  dirs: readonly string[],
  names: ReadonlySet<string>,
): Promise<Schemas> {
  const own = join(homeOf(env), ".aegis", "plugins");
  const folders = [...dirs.map((folder) => resolve(root, folder)), own];
  const schemas = new Map<string, PluginManifest["config_schema"]>();
  for (const { name, manifest } of await findPlugins(folders))
    if (manifest !== null && names.has(name) && !schemas.has(name)) schemas.set(name, manifest.config_schema);
  return schemas;
}
