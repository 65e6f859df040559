/** The operations of `aegis trust`: list what a project would run, trust it and revoke that trust. Needs no daemon. */

import { realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { AgentProfile } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { AgreedItem } from "@aegis/plugins/trust/store.ts";
import { itemKey, type TrustItem, type TrustVerdict } from "@aegis/plugins/trust/trust.ts";
import { AgentFiles } from "../agents/files.ts";
import { agentPlaces } from "../agents/places.ts";
import { type Config, toAgent } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { formatProblem } from "../config/problem.ts";
import { agentItem } from "./agent-item.ts";
import { Contents } from "./contents.ts";
import { harnessItems } from "./harness-files.ts";
import { allOf, commandItems, pluginItems, projectItems } from "./items.ts";
import { buildTrust } from "./project-trust.ts";

export type JudgedTrustItem = { item: TrustItem; verdict: TrustVerdict };

/** What agents would run in a worktree of the project where it differs from what the project itself has. */
export async function listWorktreeTrust(project: TrustProject, worktree: string): Promise<JudgedTrustItem[]> {
  const { root, trust } = await buildTrust(project.root, project.env);
  const { agents } = await readAgents({ ...project, root });
  const contents = new Contents();
  const own = await Promise.all(agents.map((agent) => agentItem(root, agent, contents, worktree)));
  const harness = await harnessItems(worktree, contents);
  const items = [...own.filter((item) => item !== null), ...harness.map(({ item }) => item)];
  return Promise.all(items.map(async (item) => ({ item, verdict: await trust.judge(item, worktree) })));
}

/** Trusts this content in the worktree, beside the version of the project. */
export async function agreeInWorktree(
  project: TrustProject,
  worktree: string,
  items: readonly TrustItem[],
): Promise<void> {
  const { root, store } = await buildTrust(project.root, project.env);
  await store.agree(root, items.map(toAgreed), worktree);
}

export type TrustProject = { root: string; env: Environment; harnesses: readonly string[] };

/** Everything in the project that could run code, and whether each item is trusted. */
export async function listTrust(project: TrustProject): Promise<JudgedTrustItem[]> {
  const { root, trust } = await buildTrust(project.root, project.env);
  return Promise.all(
    (await allItems({ ...project, root })).map(async ({ item, dir }) => ({
      item,
      verdict: dir === null ? await trust.judge(item) : await trust.mayRun({ name: item.name, dir }),
    })),
  );
}

/** Trusts exactly these contents. */
export async function agreeTo(project: TrustProject, items: readonly TrustItem[]): Promise<void> {
  const { root, store } = await buildTrust(project.root, project.env);
  await store.agree(root, items.map(toAgreed));
}

/** Trusts the current and future content of the folder: for a project to which only the user writes. */
export async function agreeAlways(project: Pick<TrustProject, "root" | "env">): Promise<void> {
  const { root, store } = await buildTrust(project.root, project.env);
  await store.update(root, (before) => ({ ...before, always: true }));
}

/** Revokes everything that was trusted in this folder. Returns false if there was nothing. */
export async function revokeTrust(project: Pick<TrustProject, "root" | "env">): Promise<boolean> {
  const { root, store } = await buildTrust(project.root, project.env);
  if ((await store.project(root)) === null) return false;
  await store.update(root, () => null);
  return true;
}

/** Whether the folder is trusted regardless of its content. */
export async function isAlwaysTrusted(project: Pick<TrustProject, "root" | "env">): Promise<boolean> {
  const { root, store } = await buildTrust(project.root, project.env);
  return (await store.project(root))?.always === true;
}

/** Finds a plugin in the project's folders by name. Throws `not_found` with the nearest name. */
export async function findPlugin(project: TrustProject, name: string): Promise<JudgedTrustItem> {
  const plugins = (await listTrust(project)).filter(({ item }) => item.kind === "plugin");
  const found = plugins.find(({ item }) => item.name === name);
  if (found !== undefined) return found;
  const names = plugins.map(({ item }) => item.name);
  throw new AegisError("not_found", `no plugin "${name}" in this project${didYouMean(name, names)}`, {
    hint: names.length === 0 ? "there is none" : `plugins here: ${names.join(", ")}`,
  });
}

/** With `dev`, trusts the plugin regardless of later changes, for its author; otherwise exactly its current content. */
export async function trustPlugin(project: TrustProject, item: TrustItem, options: { dev: boolean }): Promise<void> {
  const { root, store } = await buildTrust(project.root, project.env);
  await store.agree(root, [toAgreed(item)]);
  await store.update(root, (before) => {
    const others = before.dev.filter((name) => name !== item.name);
    return { ...before, dev: options.dev ? [...others, item.name] : others };
  });
}

function toAgreed({ kind, name, hash, parts }: TrustItem): AgreedItem {
  return { key: itemKey(kind, name), hash, parts };
}

/**
 * The kinds that commands edit. Plugins are trusted at install. Aegis never writes harness settings or command pages,
 * so one that appears during an edit comes from another source.
 */
const editedKinds: ReadonlySet<TrustItem["kind"]> = new Set(["agent", "model", "schedule", "settings"] as const);

/**
 * Performs an edit that the user requested and trusts what it changes, because the request implies consent. Items that
 * were untrusted before and that the edit does not touch stay untrusted.
 */
export async function editAsOwner<T>(project: TrustProject, edit: () => Promise<T>): Promise<T> {
  const before = await listTrust(project).catch(() => null);
  const result = await edit();
  // There is nothing to trust in a configuration that is unreadable now.
  const after = before === null ? [] : await listTrust(project).catch(() => []);
  const changed = after.filter(({ item, verdict }) => {
    const earlier = before?.find((one) => one.item.kind === item.kind && one.item.name === item.name);
    if (verdict.allowed || !editedKinds.has(item.kind)) return false;
    return earlier === undefined || (earlier.verdict.allowed && earlier.item.hash !== item.hash);
  });
  if (changed.length > 0)
    await agreeTo(
      project,
      changed.map(({ item }) => item),
    );
  return result;
}

type Found = {
  item: TrustItem;
  /** The folder of a plugin. */
  dir: string | null;
};

async function readAgents({ root, env, harnesses }: TrustProject): Promise<{ config: Config; agents: AgentProfile[] }> {
  const home = homeOf(env);
  const files = await new AgentFiles().load(agentPlaces(root, home));
  const { config, problems } = await loadConfig({
    cwd: root,
    harnesses,
    agents: ["offline", ...files.profiles.map((profile) => profile.slug)],
  });
  if (config === null) {
    const lines = problems.map((problem) => `  ${formatProblem(problem)}`).join("\n");
    throw new AegisError(
      "invalid",
      `Aegis cannot determine what this folder would run while its files are invalid:\n${lines}`,
    );
  }
  const agents = [...Object.entries(config.agents).map(([slug, entry]) => toAgent(slug, entry)), ...files.profiles];
  return { config, agents };
}

async function allItems(project: TrustProject): Promise<Found[]> {
  const { root, env } = project;
  const home = homeOf(env);
  const { config, agents } = await readAgents(project);
  const items = await projectItems(root, config, agents, new Contents());
  const own = await realpath(join(home, ".aegis", "plugins")).catch(() => null);
  const folders = config.plugin_dirs.filter((folder) => resolve(root, folder) !== own);
  const plugins = await pluginItems(root, folders);
  return [
    ...plugins.map((item) => ({ item, dir: resolve(root, item.file) })),
    ...[...allOf(items), ...(await commandItems(root))].map((item) => ({ item, dir: null })),
  ];
}
