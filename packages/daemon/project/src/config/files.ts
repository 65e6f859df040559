/** Lists and reads the files of a project's configuration, in merge order. */
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import { ifMissing, isErrno, readRegular } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { fileStart, maxFileBytes } from "./decode.ts";
import { type ConfigProblem, formatPath, type KeyPath } from "./problem.ts";
import { type ConfigSource, parseSource } from "./source.ts";

export const localFileName = ".aegis.local.yaml";
export const overlayFolder = ".aegis";
export const overlaySections = ["agents", "queues", "schedules", "groups"] as const;
export type OverlaySection = (typeof overlaySections)[number];

/** File access. An edit passes its own implementation to validate the configuration with the change. */
export type ConfigFiles = {
  /** Throws `ENOENT` if the file does not exist. */
  read(path: string): Promise<Uint8Array>;
  /** The names in a folder; empty if the folder does not exist. */
  list(folder: string): Promise<string[]>;
};

export const diskFiles: ConfigFiles = { read: (path) => readRegular(path, maxFileBytes), list: listFiles };

export type SourceKind = "main" | "overlay" | "local";

/** The role of a path below the project folder in the configuration, or null if it has none. */
export function describeFile(file: string): { kind: SourceKind; prefix: KeyPath } | null {
  if (file === configFileName) return { kind: "main", prefix: [] };
  if (file === localFileName) return { kind: "local", prefix: [] };
  const [folder, section, name, ...rest] = file.split(sep);
  const known = overlaySections.find((candidate) => candidate === section);
  if (folder !== overlayFolder || known === undefined || rest.length > 0) return null;
  if (name === undefined || !name.endsWith(".yaml") || name.startsWith(".")) return null;
  return { kind: "overlay", prefix: overlayPrefix(known, name.slice(0, -".yaml".length)) };
}

export function overlayPrefix(section: OverlaySection, name: string): KeyPath {
  return section === "groups" ? ["groups", "presets", name] : [section, name];
}

export type ReadSources = {
  main: ConfigSource | null;
  overlays: ConfigSource[];
  local: ConfigSource | null;
  problems: ConfigProblem[];
};

export async function readSources(root: string, files: ConfigFiles): Promise<ReadSources> {
  const problems: ConfigProblem[] = [];
  const read = async (path: string): Promise<ConfigSource | null> => {
    const file = relative(root, path);
    const prefix = describeFile(file)?.prefix ?? [];
    try {
      return parseSource(file, prefix, await files.read(path));
    } catch (error) {
      if (isErrno(error, "ENOENT")) return null;
      problems.push({ file, ...fileStart, key: formatPath(prefix), message: `cannot be read: ${errorText(error)}` });
      return null;
    }
  };
  const [main, local, ...sections] = await Promise.all([
    read(join(root, configFileName)),
    read(join(root, localFileName)),
    ...overlaySections.map(async (section) => {
      const folder = join(root, overlayFolder, section);
      const listed = await files.list(folder).catch((error: unknown) => {
        const file = relative(root, folder);
        problems.push({ file, ...fileStart, key: "", message: `cannot be read: ${errorText(error)}` });
        return [];
      });
      const names = listed.filter((name) => !name.startsWith(".")).sort();
      for (const name of names.filter((candidate) => candidate.endsWith(".yml")))
        problems.push({
          file: relative(root, join(folder, name)),
          ...fileStart,
          key: "",
          message: `expected a name that ends in .yaml, found "${name}"`,
        });
      return Promise.all(names.filter((name) => name.endsWith(".yaml")).map((name) => read(join(folder, name))));
    }),
  ]);
  const overlays = sections.flat().filter((source) => source !== null);
  for (const source of [main, local, ...overlays]) problems.push(...(source?.problems ?? []));
  return { main, overlays, local, problems };
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(ifMissing([]));
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
}
