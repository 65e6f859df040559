/** Brings a plugin into a workspace and makes sure that it may be installed, without running any of it. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import semver from "semver";
import { AegisError } from "../../../contract/errors.ts";
import type { PluginDiagnostic, PluginManifest } from "../../../contract/plugin.ts";
import { readManifest } from "../manifest.ts";
import type { Workspace } from "./journal.ts";
import { copyPlugin, openSource, pluginFolder, type Source, type SourceDeps } from "./sources.ts";

export type Staged = {
  /** In the workspace. */
  dir: string;
  /** The name of that folder there. */
  slot: string;
  manifest: PluginManifest;
  commit: string | null;
  warnings: PluginDiagnostic[];
};

export type StageOptions = {
  name: string;
  source: Source;
  workspace: Workspace;
  deps: SourceDeps;
  aegisVersion: string;
  /** Other plugins that are here, by name with their version. */
  others: ReadonlyMap<string, string>;
};

const slot = "tree";

/** Throws `invalid` or `not_found` with the reason that it cannot be installed. */
export async function stage(options: StageOptions): Promise<Staged> {
  const { name, source, workspace, deps } = options;
  const fetched = await openSource(source, join(workspace.dir, "source"), deps);
  const dir = join(workspace.dir, slot);
  await copyPlugin(await pluginFolder(source, fetched, name), dir, deps);
  const { manifest, diagnostics } = await readManifest(dir);
  const errors = diagnostics.filter((one) => one.level === "error");
  if (manifest === null || errors.length > 0) throw wrongManifest(source.text, errors);
  if (manifest.name !== name)
    throw new AegisError("invalid", `the plugin at ${source.text} is called "${manifest.name}", not "${name}"`, {
      hint: `install it as: aegis plugin install ${manifest.name} --from ${source.text}`,
    });
  checkRequirements(manifest, options);
  const warnings = diagnostics.filter((one) => one.level === "warning");
  return { dir, slot, manifest, commit: fetched.commit, warnings };
}

/** The manifest of a plugin that lies here. Throws `invalid` when it has none that can be used. */
export async function manifestOf(dir: string): Promise<PluginManifest> {
  const { manifest, diagnostics } = await readManifest(dir);
  if (manifest === null) throw wrongManifest(dir, diagnostics);
  return manifest;
}

/** Plugins in a folder that need `name` in a version that is not this one; null when it will be gone. */
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

/** The plugins in a folder with their versions; what cannot be read does not count. */
export async function installedVersions(folder: string): Promise<Map<string, string>> {
  const versions = new Map<string, string>();
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter((candidate) => candidate.isDirectory())) {
    const { manifest } = await readManifest(join(folder, entry.name));
    if (manifest !== null) versions.set(manifest.name, manifest.version);
  }
  return versions;
}

function checkRequirements(manifest: PluginManifest, { aegisVersion, others, name }: StageOptions): void {
  const wanted = manifest.requires_aegis;
  // A pre-release of a version stands for that version.
  if (wanted !== null && !semver.satisfies(aegisVersion, wanted, { includePrerelease: true }))
    throw new AegisError("invalid", `${name} ${manifest.version} needs Aegis ${wanted}; this is ${aegisVersion}`);
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

function wrongManifest(place: string, errors: readonly PluginDiagnostic[]): AegisError {
  const lines = errors.map(({ file, line, message }) => {
    const at = [file, line].filter((part) => part !== null).join(":");
    return `  ${at === "" ? "" : `${at}: `}${message}`;
  });
  return new AegisError("invalid", `the manifest of the plugin at ${place} is wrong:\n${lines.join("\n")}`);
}
