/** Decides whether project content may run, solely by the content hashes that the user trusted. */
import { createHash } from "node:crypto";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ifUnreadable, isInside, readRegular } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { listTree, treeHash } from "@aegis/lib/safe-tree.ts";
import { isCache } from "../caches.ts";
import { changesBetween, changesLine, fileParts, type PartChange, type TrustParts } from "./parts.ts";
import { type TrustedProject, type TrustStore, untrustedProject } from "./store.ts";

/** A plugin by name and place: a folder or a single file. */
export type PluginPlace = { name: string; dir: string };

export type TrustVerdict =
  | { allowed: true }
  /** `changed`: it was trusted or installed and has changed since. */
  | Refusal;

export type Refusal = {
  allowed: false;
  reason: "untrusted" | "changed";
  message: string;
  fix: string;
  /** What differs from the version that the user trusted, as far as it is known. */
  changes: readonly PartChange[];
};

/** A part of a project's files that could run code or disclose secrets, with a hash of everything relevant. */
export type TrustItem = {
  kind: TrustKind;
  name: string;
  /** A description of what it would do. */
  what: string;
  hash: string;
  /** Relative to the project. */
  file: string;
  /** What the hash covers, part by part. Read only to record what is trusted, and to say what changed. */
  parts: () => Promise<TrustParts>;
};

export type TrustKind = "plugin" | "agent" | "model" | "schedule" | "command" | "harness" | "settings";

export type TrustOptions = {
  /** The project's real path. */
  root: string;
  store: TrustStore;
  /** Folders whose plugins are the user's own or bundled with Aegis. */
  ownDirs: readonly string[];
  /** The hash of an installed plugin of the project; null if it was not installed. Throws for an unusable lockfile. */
  installedHash: (plugin: string) => Promise<string | null>;
};

export interface Trust {
  /** For plugins of any folder; a plugin outside the project is judged like one inside. */
  mayRun(plugin: PluginPlace): Promise<TrustVerdict>;
  /** For everything else, by its item. In a worktree, the user may have agreed to another version. */
  judge(item: TrustItem, worktree?: string): Promise<TrustVerdict>;
}

export function createTrust(options: TrustOptions): Trust {
  return {
    async mayRun(plugin) {
      // Uses the real path: a link in the user's own folder does not extend trust to its target.
      const real = await realpath(plugin.dir);
      if (options.ownDirs.some((folder) => isInside(folder, real))) return { allowed: true };
      const project = await readProject(options);
      if ("allowed" in project) return project;
      const link = await linkOut(plugin.dir);
      if (link !== null) {
        const message = `${link} is a link out of its folder, so that its content can change unseen`;
        return refusal("untrusted", message, `put the file itself in place of ${link}`);
      }
      if (project.dev.includes(plugin.name)) return { allowed: true };
      const hash = await pluginHash(plugin);
      const known = project.items[itemKey("plugin", plugin.name)];
      if (known === hash) return { allowed: true };
      const locked = await lockedHash(options, plugin);
      const fix = `look at ${plugin.dir}, then: aegis plugin trust ${plugin.name}`;
      const changed = async (message: string) => {
        const changes = await changesOf(options, itemKey("plugin", plugin.name), () => pluginParts(plugin));
        return refusal("changed", `${message}${inWords(changes)}`, fix, changes);
      };
      // The lockfile fixes the content of an installed plugin, even where everything else is trusted.
      if (locked instanceof Error) return refusal("changed", locked.message, fix);
      if (locked !== null && locked !== hash) return changed("its files were changed since it was installed");
      if (project.always) return { allowed: true };
      if (known !== undefined) return changed("its files have changed since you trusted it");
      return refusal("untrusted", "you have not agreed to run it here yet", fix);
    },
    async judge(item, worktree) {
      const project = await readProject(options);
      if ("allowed" in project) return project;
      const key = itemKey(item.kind, item.name);
      const known = project.items[key];
      if (project.always || known === item.hash) return { allowed: true };
      if (worktree !== undefined && project.worktrees[worktree]?.[key] === item.hash) return { allowed: true };
      const fix = "see what it is with: aegis trust";
      if (known === undefined) return refusal("untrusted", "you have not agreed to it here yet", fix);
      const changes = await changesOf(options, key, item.parts);
      return refusal("changed", `it has changed since you trusted it${inWords(changes)}`, fix, changes);
    },
  };
}

function refusal(
  reason: Refusal["reason"],
  message: string,
  fix: string,
  changes: readonly PartChange[] = [],
): Refusal {
  return { allowed: false, reason, message, fix, changes };
}

function inWords(changes: readonly PartChange[]): string {
  return changes.length === 0 ? "" : `: ${changesLine(changes)}`;
}

/** A record that is gone or unusable explains nothing; the refusal stands without it. */
async function changesOf(
  { store, root }: TrustOptions,
  key: string,
  parts: () => Promise<TrustParts>,
): Promise<readonly PartChange[]> {
  const before = await store.agreedParts(root, key);
  return before === null ? [] : changesBetween(before, await parts());
}

export function itemKey(kind: TrustKind, name: string): string {
  return `${kind}:${name}`;
}

/** Hashes the whole plugin: its folder except caches, or its file and the helpers beside it. */
export async function pluginHash({ dir }: PluginPlace): Promise<string> {
  if ((await stat(dir)).isDirectory()) return treeHash(dir, { ignore: isCache });
  const hash = createHash("sha256").update(await readFile(dir));
  // A single file may import files beside it whose names start with `_`; they belong to the plugin.
  const helpers = (await readdir(dirname(dir))).filter((name) => name.startsWith("_")).sort();
  for (const name of helpers) {
    const path = join(dirname(dir), name);
    const info = await stat(path).catch(ifUnreadable(null));
    // A link to nothing, for example: the plugin cannot import it either.
    if (info === null) continue;
    const content = info.isDirectory() ? await treeHash(path, { ignore: isCache }) : await readRegular(path);
    hash.update(`\n${name} ${content.length}\n`).update(content);
  }
  return `sha256:${hash.digest("hex")}`;
}

/** The files that `pluginHash` covers. */
export async function pluginParts({ dir }: PluginPlace): Promise<TrustParts> {
  if ((await stat(dir)).isDirectory()) {
    const paths = (await listTree(dir)).filter((path) => !isCache(path));
    return fileParts(paths.map((path) => [path, join(dir, path)]));
  }
  const parent = dirname(dir);
  const names = (await readdir(parent)).filter((name) => name.startsWith("_")).sort();
  const paths: [string, string][] = [[basename(dir), dir]];
  for (const name of names) {
    const path = join(parent, name);
    const info = await stat(path).catch(ifUnreadable(null));
    if (info?.isDirectory() !== true) paths.push([name, path]);
    else
      for (const below of await listTree(path))
        if (!isCache(below)) paths.push([`${name}/${below}`, join(path, below)]);
  }
  return fileParts(paths);
}

/** Hashes settings independently of key order. */
export function valueHash(value: unknown): string {
  return `sha256:${createHash("sha256").update(canonical(value)).digest("hex")}`;
}

/** Finds a link that leaves the plugin: the hash does not cover its target. */
async function linkOut(dir: string): Promise<string | null> {
  if (!(await stat(dir)).isDirectory()) return null;
  const root = await realpath(dir);
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const real = await realpath(path).catch(() => null);
    if (real === null || !isInside(root, real)) return path;
  }
  return null;
}

async function readProject({ store, root }: TrustOptions): Promise<TrustedProject | TrustVerdict> {
  try {
    return (await store.project(root)) ?? untrustedProject("");
  } catch (error) {
    const fix = `repair or remove ${store.path}`;
    return refusal("untrusted", errorText(error), fix);
  }
}

/** Null if the plugin was not installed at this place. An unreadable lockfile vouches for nothing. */
async function lockedHash({ root, installedHash }: TrustOptions, plugin: PluginPlace): Promise<string | Error | null> {
  const installed = join(root, ".aegis", "plugins");
  if (dirname(plugin.dir) !== installed || basename(plugin.dir) !== plugin.name) return null;
  try {
    return await installedHash(plugin.name);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${sorted.map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`).join(",")}}`;
}
