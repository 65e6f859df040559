/** Decides whether project content may run, solely by the content hashes that the user trusted. */
import { createHash } from "node:crypto";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isInside } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { treeHash } from "@aegis/lib/safe-tree.ts";
import { isCache } from "../caches.ts";
import { type TrustedProject, type TrustStore, untrustedProject } from "./store.ts";

/** A plugin by name and place: a folder or a single file. */
export type PluginPlace = { name: string; dir: string };

export type Verdict =
  | { allowed: true }
  /** `changed`: it was trusted or installed and has changed since. */
  | { allowed: false; reason: "untrusted" | "changed"; message: string; fix: string };

/** A part of a project's files that could run code or disclose secrets, with a hash of everything relevant. */
export type TrustItem = {
  kind: TrustKind;
  name: string;
  /** A description of what it would do. */
  what: string;
  hash: string;
  /** Relative to the project. */
  file: string;
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
  mayRun(plugin: PluginPlace): Promise<Verdict>;
  /** For everything else, by its item. */
  judge(item: TrustItem): Promise<Verdict>;
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
        return { allowed: false, reason: "untrusted", message, fix: `put the file itself in place of ${link}` };
      }
      if (project.dev.includes(plugin.name)) return { allowed: true };
      const hash = await pluginHash(plugin);
      const known = project.items[itemKey("plugin", plugin.name)];
      if (known === hash) return { allowed: true };
      const locked = await lockedHash(options, plugin);
      const fix = `look at ${plugin.dir}, then: aegis plugin trust ${plugin.name}`;
      // The lockfile fixes the content of an installed plugin, even where everything else is trusted.
      if (locked instanceof Error) return { allowed: false, reason: "changed", message: locked.message, fix };
      if (locked !== null && locked !== hash)
        return { allowed: false, reason: "changed", message: "its files were changed since it was installed", fix };
      if (project.always) return { allowed: true };
      if (known !== undefined)
        return { allowed: false, reason: "changed", message: "its files have changed since you trusted it", fix };
      return { allowed: false, reason: "untrusted", message: "you have not agreed to run it here yet", fix };
    },
    async judge(item) {
      const project = await readProject(options);
      if ("allowed" in project) return project;
      const known = project.items[itemKey(item.kind, item.name)];
      if (project.always || known === item.hash) return { allowed: true };
      const changed = known !== undefined;
      const message = changed ? "it has changed since you trusted it" : "you have not agreed to it here yet";
      return {
        allowed: false,
        reason: changed ? "changed" : "untrusted",
        message,
        fix: "see what it is with: aegis trust",
      };
    },
  };
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
    const isFolder = (await stat(path)).isDirectory();
    const content = isFolder ? await treeHash(path, { ignore: isCache }) : await readFile(path);
    hash.update(`\n${name} ${content.length}\n`).update(content);
  }
  return `sha256:${hash.digest("hex")}`;
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

async function readProject({ store, root }: TrustOptions): Promise<TrustedProject | Verdict> {
  try {
    return (await store.project(root)) ?? untrustedProject("");
  } catch (error) {
    const fix = `repair or remove ${store.path}`;
    return { allowed: false, reason: "untrusted", message: errorText(error), fix };
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
