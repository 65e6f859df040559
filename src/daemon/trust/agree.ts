/** How a user looks at what a project would run, agrees to it, and takes that back. Needs no daemon. */
import { realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AegisError } from "../../contract/errors.ts";
import type { Environment } from "../../lib/child-env.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { itemKey, type TrustItem, type Verdict } from "../../runtime/plugins/trust/trust.ts";
import { AgentFiles } from "../agents/files.ts";
import { agentPlaces } from "../agents/places.ts";
import { buildTrust, homeOf } from "../build-trust.ts";
import { toAgent } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { formatProblem } from "../config/problem.ts";
import { commandItems, pluginItems, projectItems } from "./items.ts";

export type Judged = { item: TrustItem; verdict: Verdict };

export type TrustProject = { root: string; env: Environment; harnesses: readonly string[] };

/** Everything in the project that could run something, each with whether it may. */
export async function listTrust(project: TrustProject): Promise<Judged[]> {
  const { root, trust } = await buildTrust(project.root, project.env);
  return Promise.all(
    (await allItems({ ...project, root })).map(async ({ item, dir }) => ({
      item,
      verdict: dir === null ? await trust.judge(item) : await trust.mayRun({ name: item.name, dir }),
    })),
  );
}

/** Agrees to exactly these contents. */
export async function agreeTo(project: TrustProject, items: readonly TrustItem[]): Promise<void> {
  const { root, store } = await buildTrust(project.root, project.env);
  const agreed = Object.fromEntries(items.map((item) => [itemKey(item.kind, item.name), item.hash]));
  await store.update(root, (before) => ({ ...before, items: { ...before.items, ...agreed } }));
}

/** Agrees to whatever the folder holds and will hold: for a project that nobody else writes to. */
export async function agreeAlways(project: Pick<TrustProject, "root" | "env">): Promise<void> {
  const { root, store } = await buildTrust(project.root, project.env);
  await store.update(root, (before) => ({ ...before, always: true }));
}

/** Takes everything back that was agreed to in this folder. False when there was nothing. */
export async function revokeTrust(project: Pick<TrustProject, "root" | "env">): Promise<boolean> {
  const { root, store } = await buildTrust(project.root, project.env);
  if ((await store.project(root)) === null) return false;
  await store.update(root, () => null);
  return true;
}

/** Whether everything here is trusted, whatever it becomes. */
export async function isAlwaysTrusted(project: Pick<TrustProject, "root" | "env">): Promise<boolean> {
  const { root, store } = await buildTrust(project.root, project.env);
  return (await store.project(root))?.always === true;
}

/** A plugin of the project's folders by name. Throws `not_found` with the nearest one. */
export async function findPlugin(project: TrustProject, name: string): Promise<Judged> {
  const plugins = (await listTrust(project)).filter(({ item }) => item.kind === "plugin");
  const found = plugins.find(({ item }) => item.name === name);
  if (found !== undefined) return found;
  const names = plugins.map(({ item }) => item.name);
  throw new AegisError("not_found", `no plugin "${name}" in this project${didYouMean(name, names)}`, {
    hint: names.length === 0 ? "there is none" : `plugins here: ${names.join(", ")}`,
  });
}

/** With `dev` the plugin is trusted whatever it becomes, for whoever is writing it; else exactly as it is. */
export async function trustPlugin(project: TrustProject, item: TrustItem, options: { dev: boolean }): Promise<void> {
  const { root, store } = await buildTrust(project.root, project.env);
  await store.update(root, (before) => {
    const others = before.dev.filter((name) => name !== item.name);
    return {
      ...before,
      items: { ...before.items, [itemKey(item.kind, item.name)]: item.hash },
      dev: options.dev ? [...others, item.name] : others,
    };
  });
}

/**
 * Makes an edit that the user asks for, and agrees to what it changes: asking for it is agreeing. What nobody had agreed
 * to before and the edit does not touch stays that way.
 */
export async function editAsOwner<T>(project: TrustProject, edit: () => Promise<T>): Promise<T> {
  const before = await listTrust(project).catch(() => null);
  const result = await edit();
  // A configuration that cannot be read now is nothing to agree to.
  const after = before === null ? [] : await listTrust(project).catch(() => []);
  const changed = after.filter(({ item, verdict }) => {
    const earlier = before?.find((one) => one.item.kind === item.kind && one.item.name === item.name);
    if (verdict.allowed || item.kind === "plugin") return false;
    return earlier === undefined || (earlier.verdict.allowed && earlier.item.hash !== item.hash);
  });
  if (changed.length > 0)
    await agreeTo(
      project,
      changed.map(({ item }) => item),
    );
  return result;
}

type Found = { item: TrustItem /** Where a plugin lies. */; dir: string | null };

async function allItems(project: TrustProject): Promise<Found[]> {
  const { root, env, harnesses } = project;
  const home = homeOf(env);
  const files = await new AgentFiles().load(agentPlaces(root, home));
  const { config, problems } = await loadConfig({
    cwd: root,
    harnesses,
    agents: ["offline", ...files.profiles.map((profile) => profile.slug)],
  });
  if (config === null) {
    const lines = problems.map((problem) => `  ${formatProblem(problem)}`).join("\n");
    throw new AegisError("invalid", `what this folder would run cannot be told while its files are wrong:\n${lines}`);
  }
  const agents = [...Object.entries(config.agents).map(([slug, entry]) => toAgent(slug, entry)), ...files.profiles];
  const items = await projectItems(root, config, agents);
  const own = await realpath(join(home, ".aegis", "plugins")).catch(() => null);
  const folders = config.plugin_dirs.filter((folder) => resolve(root, folder) !== own);
  const plugins = await pluginItems(root, folders);
  return [
    ...plugins.map((item) => ({ item, dir: resolve(root, item.file) })),
    ...[
      ...items.agents.values(),
      ...items.models.values(),
      ...items.schedules.values(),
      ...items.settings.values(),
      ...items.harnesses.map(({ item }) => item),
      ...(await commandItems(root)),
    ].map((item) => ({ item, dir: null })),
  ];
}
