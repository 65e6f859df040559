/** Decides whether what a project brings may run: by the content that its user agreed to, and by nothing else. */
import { createHash } from "node:crypto";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isErrno, isInside } from "../../../lib/files.ts";
import { errorText } from "../../../lib/log.ts";
import { treeHash } from "../../../lib/safe-tree.ts";
import { lockFile, parseLock } from "../install/lockfile.ts";
import type { TrustedProject, TrustStore } from "./store.ts";

/** A plugin by its name and where it lies: a folder, or a single file. */
export type PluginPlace = { name: string; dir: string };

export type Verdict =
  | { allowed: true }
  /** `changed`: it was agreed to or installed, and is something else now. */
  | { allowed: false; reason: "untrusted" | "changed"; message: string; fix: string };

/** Something of a project's files that could run code or send secrets elsewhere, with a hash of all that matters. */
export type TrustItem = {
  kind: TrustKind;
  name: string;
  /** What it would do, in words. */
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
  /** Folders whose plugins are the user's own or come with Aegis. */
  ownDirs: readonly string[];
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
      // Where it really lies: a link in the user's own folder vouches for nothing elsewhere.
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
      const locked = await lockedHash(options.root, plugin);
      const fix = `look at ${plugin.dir}, then: aegis plugin trust ${plugin.name}`;
      // An installed plugin says what it must be, which holds also where everything else is trusted.
      if (locked instanceof Error) return { allowed: false, reason: "changed", message: locked.message, fix };
      if (locked !== null && locked !== hash)
        return { allowed: false, reason: "changed", message: "its files were changed since it was installed", fix };
      if (project.always) return { allowed: true };
      if (known !== undefined)
        return { allowed: false, reason: "changed", message: "its files were changed since it was trusted", fix };
      return { allowed: false, reason: "untrusted", message: "nobody has agreed to run it here yet", fix };
    },
    async judge(item) {
      const project = await readProject(options);
      if ("allowed" in project) return project;
      const known = project.items[itemKey(item.kind, item.name)];
      if (project.always || known === item.hash) return { allowed: true };
      const changed = known !== undefined;
      const message = changed ? "it was changed since it was trusted" : "nobody has agreed to it here yet";
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

/** Over everything the plugin consists of. */
export async function pluginHash({ dir }: PluginPlace): Promise<string> {
  if ((await stat(dir)).isDirectory()) return treeHash(dir);
  return `sha256:${createHash("sha256")
    .update(await readFile(dir))
    .digest("hex")}`;
}

/** The same for settings: keys in any order are the same settings. */
export function valueHash(value: unknown): string {
  return `sha256:${createHash("sha256").update(canonical(value)).digest("hex")}`;
}

/** A link that leads out of the plugin: what is behind it is not covered by the hash. */
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
    return (await store.project(root)) ?? { always: false, items: {}, dev: [], at: "" };
  } catch (error) {
    const fix = `repair or remove ${store.path}`;
    return { allowed: false, reason: "untrusted", message: errorText(error), fix };
  }
}

/** Null when the plugin was not installed into this place. A lock that cannot be read vouches for nothing. */
async function lockedHash(root: string, plugin: PluginPlace): Promise<string | Error | null> {
  const installed = join(root, ".aegis", "plugins");
  if (dirname(plugin.dir) !== installed || basename(plugin.dir) !== plugin.name) return null;
  try {
    return parseLock(await readFile(join(root, lockFile)))[plugin.name]?.tree ?? null;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
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
