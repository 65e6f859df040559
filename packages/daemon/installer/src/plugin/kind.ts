/** Plugins as packages: their sources, their folder in a source, and what they require. */
import { readdir, realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { PluginDiagnostic, PluginManifest } from "@aegis/contract/plugin.ts";
import { contentPath, isErrno } from "@aegis/lib/files.ts";
import { GitError } from "@aegis/lib/git-fetch.ts";
import { errorText } from "@aegis/lib/log.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { FetchError } from "@aegis/lib/safe-fetch.ts";
import { treeHash } from "@aegis/lib/safe-tree.ts";
import { type TreeLimits, TreeRefused } from "@aegis/lib/tree-rules.ts";
import { versionProblem } from "@aegis/plugins/aegis-version.ts";
import { cacheFolders, isCache } from "@aegis/plugins/caches.ts";
import { onlyPython } from "@aegis/plugins/find.ts";
import { readManifest } from "@aegis/plugins/manifest.ts";
import semver from "semver";
import type { FetchedPackage } from "../fetch.ts";
import type { Kind } from "../kind.ts";
import type { LockEntry } from "../lockfile.ts";
import { type PackageSource, parseSource } from "../source.ts";

export type PluginInfo = { manifest: PluginManifest; warnings: PluginDiagnostic[] };

export type PluginKindOptions = {
  aegisVersion: string;
  /** The folder of the plugins that come with Aegis. */
  bundledDir: string;
  /** The installed plugins and their versions, by name. */
  others: () => Promise<ReadonlyMap<string, string>>;
  limits?: Partial<TreeLimits> | undefined;
};

const usualFolder = "plugins";
const usualBranch = "main";
const grammar =
  "gh:owner/repo[@ref][#path], git+https://…[@ref][#path], https://….zip, file:///folder, /folder or ./archive.zip";

export function pluginKind(options: PluginKindOptions): Kind<PluginInfo> {
  return {
    name: "plugin",
    limits: { files: 20_000, bytes: 200 << 20, fileBytes: 50 << 20, depth: 24, ...options.limits },
    skip: [".git", ".DS_Store", ...cacheFolders],
    parse(text, context) {
      const source = parseSource(text, { ...context, grammar });
      if (source.kind === "registry")
        throw new AegisError("invalid", `"${text}" is not a plugin source`, { hint: `expected ${grammar}` });
      return text.startsWith("gh:") && source.kind === "git" ? { ...source, ref: source.ref ?? usualBranch } : source;
    },
    async find(fetched, { source, name }) {
      const folder = await pluginFolder(source, fetched, name ?? fetched.fallbackName);
      return { folder, inspect: (dir) => inspect(dir, source, name, options) };
    },
    hash: (dir) => treeHash(dir, { ignore: isCache }),
    problem: problemOf,
  };
}

/** A folder as recorded in the lockfile: relative to the project, unless the two share only the file system root. */
export async function lockedSource(source: PackageSource, root: string): Promise<string> {
  if (source.kind !== "path") return source.text;
  const path = await realpath(source.path).catch(() => source.path);
  if (path.split(sep)[1] !== root.split(sep)[1]) return path;
  const below = relative(root, path);
  return below.startsWith("..") ? below : `./${below}`;
}

/** The folder of one plugin in the content of a source. Throws `not_found`. */
async function pluginFolder(
  source: PackageSource,
  { dir, path: named }: FetchedPackage,
  name: string,
): Promise<string> {
  const places =
    named !== null
      ? [named, `${named}/${name}`]
      : source.kind === "git"
        ? [`${usualFolder}/${name}`, "."]
        : [".", name];
  for (const place of places) {
    const folder = await folderIn(dir, place, source.text);
    if (await hasManifest(folder)) return folder;
  }
  throw new AegisError("not_found", `no plugin "${name}" at ${source.text}`, {
    hint: `looked for a manifest (${manifests.join(", ")}) in ${places.map((place) => (place === "." ? "its top folder" : place)).join(" and ")}`,
  });
}

/** The real path of a folder in a source. Throws `invalid` if a link at or above it leaves the source. */
export async function folderIn(dir: string, place: string, source: string): Promise<string> {
  const folder = await contentPath(dir, place);
  if (folder !== null) return folder;
  throw new AegisError("invalid", `"${place}" of ${source} is a link that leads out of it`);
}

const manifests: readonly string[] = ["plugin.toml", "plugin.json", ".claude-plugin/plugin.json"];

/** A manifest that links out of its folder counts as missing. */
export async function hasManifest(dir: string): Promise<boolean> {
  const found = await Promise.all(
    manifests.map(async (name) => {
      const file = await contentPath(dir, name).catch(() => null);
      return file !== null && (await stat(file).catch(() => null)) !== null;
    }),
  );
  return found.includes(true);
}

/** Throws `invalid` with the reason why it cannot be installed. */
async function inspect(
  dir: string,
  source: PackageSource,
  name: string | null,
  options: PluginKindOptions,
): Promise<PluginInfo> {
  const { manifest, diagnostics } = await readManifest(dir);
  const errors = diagnostics.filter((one) => one.level === "error");
  if (manifest === null || errors.length > 0) throw wrongManifest(source.text, errors);
  if (manifest.name !== name)
    throw new AegisError("invalid", `the plugin at ${source.text} is called "${manifest.name}", not "${name}"`, {
      hint: `install it as: aegis plugin install ${manifest.name} --from ${source.text}`,
    });
  const fault = await onlyPython(dir, manifest);
  if (fault !== null)
    throw new AegisError("invalid", `${name} ${manifest.version} cannot be installed: ${fault}`, {
      hint: (await ownPlugin(manifest.name, source, options)) ?? "see docs/plugins.md for tools that are programs",
    });
  await checkRequirements(manifest, source, options);
  return { manifest, warnings: diagnostics.filter((one) => one.level === "warning") };
}

/** The manifest of a plugin in a folder. Throws `invalid` if there is no usable one. */
export async function manifestOf(dir: string): Promise<PluginManifest> {
  const { manifest, diagnostics } = await readManifest(dir);
  if (manifest === null) throw wrongManifest(dir, diagnostics);
  return manifest;
}

/** Throws `not_found` with the nearest name. */
export function entryOf(installed: ReadonlyMap<string, LockEntry>, name: string): LockEntry {
  const entry = installed.get(name);
  if (entry !== undefined) return entry;
  const names = [...installed.keys()];
  throw new AegisError("not_found", `no plugin "${name}" was installed here${didYouMean(name, names)}`, {
    hint: names.length === 0 ? "nothing is installed" : `installed: ${names.join(", ")}`,
  });
}

/** Plugins in a folder that require another version of `name`; `version` is null if it will be removed. */
export async function dependentsWithout(folder: string, name: string, version: string | null): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const broken: string[] = [];
  for (const entry of entries.filter((candidate) => candidate.isDirectory() && candidate.name !== name)) {
    const range = (await readManifest(join(folder, entry.name))).manifest?.requires[name];
    if (range === undefined) continue;
    if (version === null || !semver.satisfies(version, range, { includePrerelease: true }))
      broken.push(`${entry.name} needs ${name} ${range}`);
  }
  return broken;
}

/** The plugins in a folder with their versions; unreadable ones are skipped. */
export async function installedVersions(folder: string): Promise<Map<string, string>> {
  const versions = new Map<string, string>();
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter((candidate) => candidate.isDirectory())) {
    const { manifest } = await readManifest(join(folder, entry.name));
    if (manifest !== null) versions.set(manifest.name, manifest.version);
  }
  return versions;
}

/** The way to the plugin of the same name that comes with Aegis, or null. */
async function ownPlugin(
  name: string,
  source: PackageSource,
  { bundledDir }: PluginKindOptions,
): Promise<string | null> {
  const place = join(bundledDir, name);
  if ((source.kind === "path" && source.path === place) || !(await hasManifest(place))) return null;
  return `Aegis has a plugin of this name: aegis plugin install ${name}`;
}

async function checkRequirements(
  manifest: PluginManifest,
  source: PackageSource,
  options: PluginKindOptions,
): Promise<void> {
  const { name } = manifest;
  const others = await options.others();
  const problem = versionProblem(manifest.requires_aegis, options.aegisVersion);
  if (problem !== null) {
    const hint = (await ownPlugin(name, source, options)) ?? problem.hint;
    throw new AegisError("invalid", `${name} ${manifest.version} needs ${problem.text}`, hint === null ? {} : { hint });
  }
  const missing = Object.entries(manifest.requires).flatMap(([other, range]) => {
    const found = others.get(other);
    if (found !== undefined && semver.satisfies(found, range, { includePrerelease: true })) return [];
    return [`${other} ${range} (${found === undefined ? "not installed" : `${found} is here`})`];
  });
  if (missing.length > 0)
    throw new AegisError("invalid", `${name} ${manifest.version} needs other plugins: ${missing.join(", ")}`, {
      hint: "install them first with: aegis plugin install <name>",
    });
}

function problemOf(error: unknown, source: PackageSource): AegisError {
  if (error instanceof AegisError) return error;
  if (error instanceof GitError || error instanceof FetchError) {
    const isUsual = source.kind === "git" && source.ref === usualBranch;
    return new AegisError("unavailable", `${source.text} could not be fetched: ${error.message}`, {
      ...(isUsual && error instanceof GitError && error.problem === "no_ref"
        ? { hint: `the branch is "${usualBranch}" unless the source names another: ${source.text}@<branch>` }
        : {}),
      cause: error,
    });
  }
  if (error instanceof TreeRefused)
    return new AegisError("invalid", `the plugin's files are refused: ${error.message}`, { cause: error });
  if (isErrno(error, "ENOENT", "ENOTDIR"))
    return new AegisError("not_found", `no folder at ${source.text}: ${errorText(error)}`, { cause: error });
  throw error;
}

function wrongManifest(place: string, errors: readonly PluginDiagnostic[]): AegisError {
  const lines = errors.map(({ file, line, message }) => {
    const at = [file, line].filter((part) => part !== null).join(":");
    return `  ${at === "" ? "" : `${at}: `}${message}`;
  });
  return new AegisError("invalid", `the manifest of the plugin at ${place} is wrong:\n${lines.join("\n")}`);
}
