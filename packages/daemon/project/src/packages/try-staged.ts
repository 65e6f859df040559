/** Loads a plugin from the installer's staging area with the settings and beside the plugins of the project. */
import { join } from "node:path";
import type { TakenNames } from "@aegis/contract/plugin.ts";
import type { FilePlan } from "@aegis/installer/file-plan.ts";
import { packagesFolder } from "@aegis/installer/place.ts";
import type { ProjectConfig } from "@aegis/installer/plugin/additions.ts";
import type { LoadResult } from "@aegis/installer/plugin/transaction.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { ownConsent } from "@aegis/lib/own-consent.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { type FoundPlugin, findPlugins, inspectPlugin } from "@aegis/plugins/find.ts";
import { planPlugins } from "@aegis/plugins/plan.ts";
import { pluginDirs, pluginValues } from "../plugins/dirs.ts";
import { declaredNames, tryPlugin } from "../plugins/trial.ts";

/** The folder of installed plugins, relative to the project. */
const pluginsFolder = packagesFolder({ base: ".aegis" }, "plugin");

export type TryStagedOptions = {
  root: string;
  env: Environment;
  config: ProjectConfig;
  /** The names that the plugins of a running daemon provide. */
  taken: (() => Promise<readonly TakenNames[]>) | undefined;
};

export async function tryStaged(
  { name, dir, plan }: { name: string; dir: string; plan: FilePlan },
  { root, env, config, taken = async () => [] }: TryStagedOptions,
): Promise<LoadResult> {
  const listed = await config.read(plan, ["plugin_dirs"]);
  const dirs = pluginDirs(root, homeOf(env), Array.isArray(listed) ? listed.map(String) : [pluginsFolder]);
  const found = await inspectPlugin(dir, name);
  const refusal = planPlugins(await beside(found, dirs, root), {
    enabled: true,
    deny: [],
    version: packageVersion(),
  }).find((planned) => planned.found === found)?.refusal;
  if (refusal !== null && refusal !== undefined)
    return { failed: true, diagnostics: [{ level: "error", file: null, line: null, message: refusal.reason }] };
  const others = (await taken()).filter(({ plugin }) => plugin !== name);
  return tryPlugin(found, {
    projectRoot: root,
    env,
    values: pluginValues(await config.read(plan, ["plugins"]), name),
    needsSettings: true,
    taken: [...others, ...(await declaredNames(dirs, name))],
    consent: async () => ownConsent("install"),
  });
}

/** The plugins of the project, with the new one at its future place. */
async function beside(staged: FoundPlugin, dirs: readonly string[], root: string): Promise<FoundPlugin[]> {
  const target = join(root, pluginsFolder, staged.name);
  const all: FoundPlugin[] = [];
  for (const dir of dirs) {
    all.push(...(await findPlugins([dir])).filter(({ place }) => place !== target));
    if (dir === join(root, pluginsFolder)) all.push(staged);
  }
  return all;
}
