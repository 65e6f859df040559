/** The edits that commands make to a configuration: set a value, add or remove an entry, add a plugin folder. */
import { existsSync } from "node:fs";
import { join, sep } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { isSeq } from "yaml";
import { readPath } from "./combine.ts";
import { type EditedConfig, editConfig, removeOverlay } from "./edit.ts";
import {
  diskFiles,
  localFileName,
  type OverlaySection,
  overlayFolder,
  overlayPrefix,
  overlaySections,
} from "./files.ts";
import { loadProject } from "./load.ts";
import { removePath, setPath } from "./paths.ts";
import type { KeyPath } from "./problem.ts";
import type { KnownNames } from "./references.ts";
import { parseSource } from "./source.ts";

export type Project = KnownNames & { root: string };
type EntrySection = "agents" | "queues" | "schedules";

/** Writes to the file that declares the entry, or to the local file if the value is for this machine only. */
export async function setValue(
  project: Project,
  path: KeyPath,
  value: unknown,
  options: { local?: boolean } = {},
): Promise<EditedConfig> {
  const place = options.local === true ? { file: localFileName, path } : placeFor(project.root, path);
  return editConfig({ ...project, file: place.file, change: (document) => setPath(document, place.path, value) });
}

/** Returns true if the local file overrides this path, so that editing the shared files has no effect. */
export async function isOverriddenLocally(root: string, path: KeyPath): Promise<boolean> {
  if (!existsSync(join(root, localFileName))) return false;
  const source = parseSource(localFileName, [], await diskFiles.read(join(root, localFileName)));
  return readPath(source.value, path) !== undefined;
}

/** Throws `conflict` if the name exists. */
export async function addEntry(
  project: Project,
  section: EntrySection,
  name: string,
  entry: Record<string, unknown>,
): Promise<EditedConfig> {
  const overlay = overlayFile(section, name);
  if (existsSync(join(project.root, overlay))) throw taken(section, name, overlay);
  return editConfig({
    ...project,
    change: (document) => {
      if (document.getIn([section, name]) !== undefined) throw taken(section, name, configFileName);
      setPath(document, [section, name], entry);
    },
  });
}

/** Throws `not_found` with the nearest name, and `invalid` if another entry still refers to this one. */
export async function removeEntry(project: Project, section: EntrySection, name: string): Promise<EditedConfig> {
  const overlay = overlayFile(section, name);
  if (existsSync(join(project.root, overlay))) return removeOverlay({ ...project, file: overlay });
  const { config } = await loadProject(project.root, project, diskFiles);
  return editConfig({
    ...project,
    change: (document) => {
      if (removePath(document, [section, name])) return;
      const names = Object.keys(config?.[section] ?? {});
      if (names.includes(name))
        throw new AegisError("conflict", `the ${section.slice(0, -1)} "${name}" is declared in ${localFileName}`, {
          hint: "edit that file: it is for this machine only",
        });
      const message = `no ${section.slice(0, -1)} "${name}" in ${configFileName}${didYouMean(name, names)}`;
      throw new AegisError("not_found", message, names.length === 0 ? {} : { hint: `declared: ${names.join(", ")}` });
    },
  });
}

/** The path of a schedule's own file, relative to the project. */
export function scheduleFile(name: string): string {
  return overlayFile("schedules", name);
}

/** Adds a folder and keeps the default folder, which an explicit list would replace. */
export async function addPluginDir(project: Project, folder: string): Promise<EditedConfig> {
  const folders = await pluginDirs(project);
  if (folders.includes(folder)) return editConfig({ ...project, change: () => {} });
  return editConfig({
    ...project,
    change: (document) => {
      const list = document.get("plugin_dirs");
      if (isSeq(list)) list.add(document.createNode(folder));
      else setPath(document, ["plugin_dirs"], [...folders, folder]);
    },
  });
}

export async function removePluginDir(project: Project, folder: string): Promise<EditedConfig> {
  const folders = await pluginDirs(project);
  const index = folders.indexOf(folder);
  if (index === -1)
    throw new AegisError("not_found", `"${folder}" is not in plugin_dirs${didYouMean(folder, folders)}`, {
      hint: folders.length === 0 ? "the list is empty" : `it holds: ${folders.join(", ")}`,
    });
  return editConfig({
    ...project,
    change: (document) => {
      const list = document.get("plugin_dirs");
      if (isSeq(list)) removePath(document, ["plugin_dirs", index]);
      else setPath(document, ["plugin_dirs"], folders.toSpliced(index, 1));
    },
  });
}

/** Disables every part of the plugin. */
export async function denyPlugin(project: Project, plugin: string): Promise<EditedConfig> {
  const denied = await deniedPlugins(project);
  if (denied.includes(plugin)) return editConfig({ ...project, change: () => {} });
  return editConfig({
    ...project,
    change: (document) => {
      const list = document.getIn(["plugins", "deny"]);
      if (isSeq(list)) list.add(document.createNode(plugin));
      else setPath(document, ["plugins", "deny"], [...denied, plugin]);
    },
  });
}

export async function allowPlugin(project: Project, plugin: string): Promise<EditedConfig> {
  const index = (await deniedPlugins(project)).indexOf(plugin);
  return editConfig({
    ...project,
    change: (document) => {
      if (index !== -1) removePath(document, ["plugins", "deny", index]);
    },
  });
}

async function deniedPlugins(project: Project): Promise<string[]> {
  const loaded = await loadProject(project.root, project, diskFiles);
  return loaded.config?.plugins.deny ?? [];
}

async function pluginDirs(project: Project): Promise<string[]> {
  const loaded = await loadProject(project.root, project, diskFiles);
  return loaded.config?.plugin_dirs ?? [];
}

function placeFor(root: string, path: KeyPath): { file: string; path: KeyPath } {
  for (const section of overlaySections) {
    const prefix = overlayPrefix(section, "");
    const name = path[prefix.length - 1];
    if (name === undefined || !prefix.slice(0, -1).every((segment, index) => path[index] === segment)) continue;
    const file = overlayFile(section, String(name));
    if (existsSync(join(root, file))) return { file, path: path.slice(prefix.length) };
  }
  return { file: configFileName, path };
}

function overlayFile(section: OverlaySection, name: string): string {
  return [overlayFolder, section, `${name}.yaml`].join(sep);
}

function taken(section: string, name: string, file: string): AegisError {
  return new AegisError("conflict", `the ${section.slice(0, -1)} "${name}" is already declared in ${file}`, {
    hint: `change it with: aegis config set ${section}.${name}.<key> <value>`,
  });
}
