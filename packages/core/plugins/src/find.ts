/**
 * Finds plugins: folders with a manifest or modules in each plugin dir, and single modules beside them. The order is
 * deterministic: dirs as configured, then names.
 */
import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, extname, join, resolve } from "node:path";
import type { PluginDiagnostic, PluginManifest } from "@aegis/contract/plugin.ts";
import { containedPath, isErrno, isInside } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { pythonReason } from "./manifest/python-parts.ts";
import { bareManifest, pluginNameProblem, readManifest } from "./manifest.ts";

export type FoundPlugin = {
  name: string;
  /** The plugin's folder or single file. */
  place: string;
  /** The real path of the folder with its code. */
  root: string;
  /** The real path of the file, for a single-file plugin. */
  single?: string;
  /** Null if the manifest is unusable; `diagnostics` has the reason. */
  manifest: PluginManifest | null;
  /** Absolute paths in load order. */
  modules: string[];
  diagnostics: PluginDiagnostic[];
};

const moduleExtensions: readonly string[] = [".ts", ".mts", ".js", ".mjs", ".cjs"];
const maxModules = 500;
const maxDepth = 20;

/** Never throws because of the content of the folders. A missing dir is empty. */
export async function findPlugins(dirs: readonly string[]): Promise<FoundPlugin[]> {
  return (await scanPlugins(dirs)).found;
}

/** `empty`: folders beside the plugins without a plugin. A plugin may be written into one of them later. */
export async function scanPlugins(dirs: readonly string[]): Promise<{ found: FoundPlugin[]; empty: string[] }> {
  const found: FoundPlugin[] = [];
  const empty: string[] = [];
  const seen = new Set<string>();
  for (const dir of dirs) {
    for (const plugin of await findIn(dir, empty)) {
      // The same folder under two names is one plugin.
      if (seen.has(plugin.place)) continue;
      seen.add(plugin.place);
      found.push(plugin);
    }
  }
  return { found, empty };
}

/** Inspects one plugin by its folder or file, at any place; `as` is the future name of its folder. */
export async function inspectPlugin(place: string, as?: string): Promise<FoundPlugin> {
  return (await stat(place)).isDirectory() ? inspectFolder(place, as) : inspectFile(place);
}

async function findIn(dir: string, empty: string[]): Promise<FoundPlugin[]> {
  const own = await readManifest(dir);
  // A plugin dir may itself be a plugin folder; it then contains exactly that plugin.
  if (own.manifest !== null || own.diagnostics.length > 0) return [await orUnusable(dir, inspectFolder(dir))];
  const entries = await list(dir).catch((error: unknown) => error);
  if (!Array.isArray(entries)) return [unusable(dir, entries)];
  const plugins: FoundPlugin[] = [];
  for (const entry of entries) {
    const path = join(dir, entry.name);
    if (isHidden(entry.name)) continue;
    if (await isFolder(entry, path)) {
      const plugin = await orUnusable(path, inspectFolder(path));
      if (isEmpty(plugin)) empty.push(path);
      else plugins.push(plugin);
    } else if (isModule(entry.name)) plugins.push(await orUnusable(path, inspectFile(path)));
  }
  return plugins;
}

/** What cannot be read is reported as a plugin that cannot be loaded. */
function orUnusable(place: string, inspected: Promise<FoundPlugin>): Promise<FoundPlugin> {
  return inspected.catch((error: unknown) => unusable(place, error));
}

function unusable(place: string, error: unknown): FoundPlugin {
  const message = `cannot be read: ${errorText(error)}`;
  const fault: PluginDiagnostic = { level: "error", file: null, line: null, message };
  const name = basename(place, extname(place));
  return { name, place, root: place, manifest: null, modules: [], diagnostics: [fault] };
}

async function inspectFolder(place: string, as: string = basename(place)): Promise<FoundPlugin> {
  const root = await realpath(place);
  const { manifest: read, diagnostics } = await readManifest(root);
  const failed = diagnostics.some((diagnostic) => diagnostic.level === "error");
  const bare = as;
  const manifest = read ?? (failed ? null : bareManifest(bare));
  const name = manifest?.name ?? bare;
  const problem = read === null && !failed ? pluginNameProblem(bare) : null;
  if (problem !== null) diagnostics.push({ level: "error", file: null, line: null, message: `name: ${problem}` });
  if (read !== null && read.name !== bare)
    diagnostics.push({
      level: "warning",
      file: read.file,
      line: null,
      message: `name: the folder is called "${bare}"; the plugin goes by "${read.name}"`,
    });
  const modules = manifest?.has_modules === true ? await modulesOf(root, manifest, diagnostics) : [];
  const fault = manifest === null ? null : await onlyPython(root, manifest);
  if (fault !== null) diagnostics.push({ level: "error", file: null, line: null, message: fault });
  return { name, place, root, manifest: problem === null ? manifest : null, modules, diagnostics };
}

/** Why nothing of a plugin for the Python program can run here; null if something can. */
export async function onlyPython(root: string, manifest: PluginManifest): Promise<string | null> {
  const parts = manifest.unsupported.filter(({ reason }) => reason === pythonReason);
  if (parts.length === 0 || manifest.agents.length > 0) return null;
  const folders = Object.values(manifest.folders).flat();
  const entries = await Promise.all(folders.map((folder) => list(join(root, folder)).catch(() => [])));
  if (entries.some((found) => found.length > 0)) return null;
  return `nothing of it can run: it has Python modules (${parts.map(({ part }) => part).join(", ")}); ${pythonReason}`;
}

async function inspectFile(place: string): Promise<FoundPlugin> {
  const real = await realpath(place);
  const name = basename(place).slice(0, -extname(place).length);
  const problem = pluginNameProblem(name);
  const diagnostics: PluginDiagnostic[] =
    problem === null ? [] : [{ level: "error", file: basename(place), line: null, message: `name: ${problem}` }];
  const manifest =
    problem === null ? { ...bareManifest(name), folders: { agents: [], commands: [], skills: [] } } : null;
  return { name, place, root: resolve(real, ".."), single: real, manifest, modules: [real], diagnostics };
}

async function modulesOf(root: string, manifest: PluginManifest, notes: PluginDiagnostic[]): Promise<string[]> {
  const programs = new Set(
    manifest.tools.flatMap(({ command, args }) => [command, ...args]).map((word) => resolve(root, word)),
  );
  // Skills and commands contain scripts that are not modules.
  const left = new Set(Object.values(manifest.folders).flatMap((paths) => paths.map((path) => resolve(root, path))));
  const found: string[] = [];
  const walk = async (folder: string, depth: number): Promise<void> => {
    for (const entry of await list(folder)) {
      const path = join(folder, entry.name);
      if (isHidden(entry.name) || left.has(path) || programs.has(path)) continue;
      if (await isFolder(entry, path)) {
        if (entry.isSymbolicLink() && !isInside(root, await realpath(path))) warnLink(path);
        else if (depth < maxDepth) await walk(path, depth + 1);
      } else if (isModule(entry.name)) {
        if ((await containedPath(root, path)) === null) warnLink(path);
        else found.push(path);
      }
    }
  };
  const warnLink = (path: string) => {
    const message = "is a link out of the plugin's folder; it is not loaded";
    notes.push({ level: "warning", file: path.slice(root.length + 1), line: null, message });
  };
  await walk(root, 0);
  if (found.length > maxModules)
    notes.push({
      level: "error",
      file: null,
      line: null,
      message: `expected at most ${maxModules} modules, found ${found.length}`,
    });
  return found.slice(0, maxModules);
}

function isHidden(name: string): boolean {
  return name.startsWith("_") || name.startsWith(".") || name === "node_modules";
}

function isModule(name: string): boolean {
  if (/\.d\.[cm]?ts$/.test(name) || /\.(?:test|spec)\.[cm]?[jt]s$/.test(name)) return false;
  return moduleExtensions.includes(extname(name));
}

/** A folder with other content, such as images, is not a plugin. */
function isEmpty({ manifest, modules, diagnostics }: FoundPlugin): boolean {
  return manifest?.format === "none" && modules.length === 0 && diagnostics.length === 0;
}

async function isFolder(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

async function list(folder: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
