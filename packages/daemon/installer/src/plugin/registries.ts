/** Searches plugin registries: folders and repositories with an index or with one folder per plugin. */

import { readdir, readFile } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { pluginNameMaxLength, pluginNamePattern } from "@aegis/contract/plugin.ts";
import { contentPath, isErrno } from "@aegis/lib/files.ts";
import { plainMessage } from "@aegis/lib/issue-words.ts";
import { errorText } from "@aegis/lib/log.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { readManifest } from "@aegis/plugins/manifest.ts";
import { z } from "zod";
import { type FetchDeps, fetchSource } from "../fetch.ts";
import type { Kind } from "../kind.ts";
import type { PackageSource } from "../source.ts";
import { folderIn, hasManifest } from "./kind.ts";

export type RegistryEntry = {
  name: string;
  version: string | null;
  description: string;
  /** The registry as configured; `bundled` for the plugins of Aegis. */
  registry: string;
  /** In the syntax of `--from`. */
  source: string;
};

export type Search = {
  entries: RegistryEntry[];
  /** Unreadable registries and skipped entries, each with the reason. */
  problems: string[];
};

const bundledRegistry = "bundled";
const indexName = "index.json";
const usualFolder = "plugins";

/** Entries are validated one by one: a bad entry must not hide the others. */
const indexSchema = z.object({ plugins: z.array(z.unknown()) });

const indexEntrySchema = z.object({
  name: z
    .string()
    .max(pluginNameMaxLength)
    .regex(pluginNamePattern, { error: "expected lower-case letters and digits joined by - or _" }),
  version: z.string().nullable().default(null),
  description: z.string().default(""),
  /** A folder of the registry; defaults to the name if `source` is also absent. */
  path: z.string().optional(),
  /** The source of a plugin outside the registry. */
  source: z.string().optional(),
});

export type RegistryOptions = FetchDeps & {
  kind: Kind<unknown>;
  root: string;
  home: string;
  bundledDir: string;
  signal: AbortSignal;
  /** `plugin_registries` of the project. */
  registries: readonly string[];
  /** The folder for fetched repositories. */
  scratch: string;
};

/** Lists the plugins of all registries. An unreadable registry is reported and does not affect the others. */
export async function listRegistryEntries(options: RegistryOptions): Promise<Search> {
  const search: Search = { entries: [], problems: [] };
  const registries = [...new Set(options.registries), bundledRegistry];
  for (const [index, registry] of registries.entries()) {
    try {
      const { entries, problems } = await entriesOf(registry, join(options.scratch, `registry-${index}`), options);
      search.entries.push(...entries);
      search.problems.push(...problems.map((problem) => `${registry}: ${problem}`));
    } catch (error) {
      if (!isAegisError(error)) throw error;
      search.problems.push(`${registry}: ${error.message}`);
    }
  }
  return search;
}

/**
 * The single entry with a name. Throws `not_found` with the nearest name, and `conflict` if several registries have it.
 */
export function pickRegistryEntry(name: string, { entries, problems }: Search): RegistryEntry {
  const [first, ...more] = entries.filter((entry) => entry.name === name);
  const unread = problems.length === 0 ? "" : `; not read: ${problems.join("; ")}`;
  if (first === undefined) {
    const names = entries.map((entry) => entry.name);
    throw new AegisError("not_found", `no registry has a plugin "${name}"${didYouMean(name, names)}${unread}`, {
      hint: "name its source with --from, or search with: aegis plugin search",
    });
  }
  if (more.length === 0) return first;
  const sources = [first, ...more].map((entry) => `  --from ${entry.source}`).join("\n");
  throw new AegisError("conflict", `${more.length + 1} registries have a plugin "${name}"; name one:\n${sources}`);
}

async function entriesOf(registry: string, into: string, options: RegistryOptions): Promise<Search> {
  const source = registrySource(registry, options);
  const dir = source.kind === "path" ? source.path : await fetchedDir(source, into, options);
  const folder = source.kind === "git" ? await folderIn(dir, source.path ?? usualFolder, registry) : dir;
  const below = (path: string) => sourceBelow(registry, source, folder, path);
  const listed = await readIndex(folder);
  if (listed === null) return { entries: await folderEntries(registry, folder, below), problems: [] };
  const search: Search = { entries: [], problems: [] };
  for (const [index, entry] of listed.entries()) {
    const read = await readEntry(folder, entry);
    if (typeof read === "string") search.problems.push(`${indexName}: plugins.${index}${read}; the entry is skipped`);
    else {
      const { name, version, description, path, source: elsewhere } = read;
      search.entries.push({ name, version, description, registry, source: elsewhere ?? below(path ?? name) });
    }
  }
  return search;
}

/** Parses one entry of an index, or returns what is wrong with it. */
async function readEntry(folder: string, entry: unknown): Promise<z.infer<typeof indexEntrySchema> | string> {
  const parsed = indexEntrySchema.safeParse(entry, { jitless: true });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `${(issue?.path ?? []).map((key) => `.${String(key)}`).join("")}: ${plainMessage(issue?.message ?? "wrong")}`;
  }
  const { name, path, source } = parsed.data;
  const isInside = source !== undefined || (await contentPath(folder, path ?? name).catch(() => null)) !== null;
  return isInside ? parsed.data : `: "${path ?? name}" leaves the registry`;
}

async function fetchedDir(source: PackageSource, into: string, options: RegistryOptions): Promise<string> {
  try {
    return (await fetchSource(source, into, options, options.signal)).dir;
  } catch (error) {
    throw options.kind.problem(error, source);
  }
}

function registrySource(registry: string, options: RegistryOptions): PackageSource {
  if (registry === bundledRegistry) return { kind: "path", text: registry, path: options.bundledDir };
  if (/^[a-z+]+:/.test(registry) || isAbsolute(registry)) return options.kind.parse(registry, options);
  return { kind: "path", text: registry, path: resolve(options.root, registry) };
}

/** The source of a plugin inside a registry. */
function sourceBelow(registry: string, source: PackageSource, folder: string, path: string): string {
  if (registry === bundledRegistry) return `bundled:${path}`;
  if (source.kind !== "git") return join(folder, path);
  const [place = ""] = source.text.split("#");
  return `${place}#${source.path ?? usualFolder}/${path}`;
}

/** The raw entries; null if the registry has no index. */
async function readIndex(folder: string): Promise<unknown[] | null> {
  let text: string;
  try {
    const file = await contentPath(folder, indexName);
    if (file === null) throw new AegisError("invalid", `${indexName} is a link out of the registry`);
    text = await readFile(file, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    if (isAegisError(error)) throw error;
    throw new AegisError("unavailable", `${indexName} cannot be read: ${errorText(error)}`, { cause: error });
  }
  try {
    return indexSchema.parse(JSON.parse(text), { jitless: true }).plugins;
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const what = issue === undefined ? errorText(error) : `${issue.path.join(".")}: ${plainMessage(issue.message)}`;
    throw new AegisError("invalid", `${indexName}: ${what}`, { cause: error });
  }
}

async function folderEntries(
  registry: string,
  folder: string,
  below: (path: string) => string,
): Promise<RegistryEntry[]> {
  let names: string[];
  try {
    const listed = await readdir(folder, { withFileTypes: true });
    names = listed
      .filter((entry) => entry.isDirectory() && pluginNamePattern.test(entry.name))
      .map((entry) => entry.name);
  } catch (error) {
    // The package may ship without plugins; a configured registry must exist.
    if (registry === bundledRegistry && isErrno(error, "ENOENT")) return [];
    throw new AegisError("unavailable", errorText(error), { cause: error });
  }
  const entries: RegistryEntry[] = [];
  for (const name of names.sort()) {
    if (!(await hasManifest(join(folder, name)))) continue;
    const { manifest, diagnostics } = await readManifest(join(folder, name));
    const broken = diagnostics.find((one) => one.level === "error");
    const description = manifest?.description ?? `(its manifest is wrong: ${broken?.message ?? "unreadable"})`;
    entries.push({ name, version: manifest?.version ?? null, description, registry, source: below(name) });
  }
  return entries;
}
