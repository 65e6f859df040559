/**
 * Reads a plugin's manifest: `plugin.toml`, `plugin.json`, or the manifest of a plugin for Claude Code or Agent Plugins
 * 1.0.
 */

import { join } from "node:path";
import {
  type PluginDiagnostic,
  type PluginFormat,
  type PluginManifest,
  pluginNameMaxLength,
  pluginNamePattern,
  reservedPluginNames,
} from "@aegis/contract/plugin.ts";
import { isErrno, readRegular } from "@aegis/lib/files.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { errorText } from "@aegis/lib/log.ts";
import semver from "semver";
import { rangeOf } from "./aegis-version.ts";
import { claudeParts } from "./manifest/claude-parts.ts";
import { maxExecutables, readExecutables } from "./manifest/executables.ts";
import { agentPluginSchema, readAgentPlugin, readClaudePlugin } from "./manifest/foreign.ts";
import { found, Notes } from "./manifest/notes.ts";
import { pythonParts } from "./manifest/python-parts.ts";
import { readSettings } from "./manifest/settings.ts";
import { type ManifestFields, type ManifestSource, readJson, readToml } from "./manifest/source.ts";

/** `manifest` is null if there is none or if `diagnostics` contains an error. */
export type ReadManifest = { manifest: PluginManifest | null; diagnostics: PluginDiagnostic[] };

const maxBytes = 1024 * 1024;
const files = ["plugin.toml", "plugin.json", ".claude-plugin/plugin.json"] as const;
const unsaidVersion = "0.0.0";

const known: readonly string[] = [
  ...["id", "name", "version", "description", "author", "homepage", "license", "repository", "keywords"],
  ...["requires_aegis", "requires", "critical", "tools", "agents", "config_schema", "config", "default_config"],
];

/** Never throws because of the folder's content. */
export async function readManifest(dir: string): Promise<ReadManifest> {
  for (const file of files) {
    const read = await readText(dir, file);
    if (read === null) continue;
    if ("diagnostics" in read) return { manifest: null, diagnostics: read.diagnostics };
    const source = file === "plugin.toml" ? readToml(read.text, file) : readJson(read.text, file);
    return withForeignParts(dir, parseManifest(source, file));
  }
  return { manifest: null, diagnostics: [] };
}

/** Adds the files for other programs that have no effect in Aegis. */
async function withForeignParts(dir: string, { manifest, diagnostics }: ReadManifest): Promise<ReadManifest> {
  if (manifest === null) return { manifest, diagnostics };
  const parts = manifest.has_modules ? await pythonParts(dir, manifest) : await claudeParts(dir);
  const notes = parts.map(({ part, reason }): PluginDiagnostic => {
    return { level: "warning", file: part, line: null, message: `has no effect here: ${reason}` };
  });
  return {
    manifest: { ...manifest, unsupported: [...manifest.unsupported, ...parts] },
    diagnostics: [...diagnostics, ...notes],
  };
}

/** The manifest of a folder or a file without one. */
export function bareManifest(name: string): PluginManifest {
  return {
    name,
    title: null,
    version: unsaidVersion,
    description: "",
    format: "none",
    file: null,
    requires_aegis: null,
    requires: {},
    critical: false,
    config_schema: {},
    default_config: {},
    tools: [],
    agents: [],
    folders: { agents: [], commands: ["commands"], skills: ["skills"] },
    has_modules: true,
    unsupported: [],
  };
}

/** The problem with a plugin name, or null. */
export function pluginNameProblem(name: unknown): string | null {
  const rule = `expected lower-case letters and digits joined by - or _, at most ${pluginNameMaxLength}`;
  if (typeof name !== "string" || name === "") return `${rule}, found ${found(name)}`;
  if (reservedPluginNames.includes(name))
    return `"${name}" is a key of the project's own settings; choose another name`;
  if (name.length <= pluginNameMaxLength && pluginNamePattern.test(name)) return null;
  const near = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  const hint = near.length > 0 && near.length <= pluginNameMaxLength ? ` (such as "${near}")` : "";
  return `${rule}, found ${found(name)}${hint}`;
}

function parseManifest({ fields, lineOf, diagnostics }: ManifestSource, file: string): ReadManifest {
  if (fields === null) return { manifest: null, diagnostics };
  const notes = new Notes(file, lineOf, diagnostics);
  const format = formatOf(file, fields);
  const isOurs = format === "plugin.toml" || format === "plugin.json";
  const manifest: PluginManifest = {
    ...bareManifest(readName(fields, notes)),
    format,
    file,
    version: readVersion(fields, format, notes),
    description: notes.text(fields, "description") ?? "",
    has_modules: isOurs,
    ...(isOurs ? readOurs(fields, notes) : readForeign(format, fields, notes)),
  };
  return { manifest: notes.failed ? null : manifest, diagnostics: notes.diagnostics };
}

function formatOf(file: string, fields: ManifestFields): PluginFormat {
  if (file === "plugin.toml") return "plugin.toml";
  if (file !== "plugin.json") return "claude-code";
  return agentPluginSchema.test(String(fields.$schema ?? "")) ? "agent-plugin" : "plugin.json";
}

function readOurs(fields: ManifestFields, notes: Notes): Partial<PluginManifest> {
  notes.unknownKeys(fields, known);
  const settings = fields.config_schema ?? fields.config;
  return {
    title: fields.id === undefined ? null : notes.text(fields, "name"),
    requires_aegis: readRange(fields.requires_aegis, ["requires_aegis"], notes),
    requires: readRequires(fields.requires, notes),
    critical: notes.flag(fields, "critical"),
    config_schema: readSettings(settings, [fields.config_schema === undefined ? "config" : "config_schema"], notes),
    default_config: readMap(fields.default_config, "default_config", notes),
    tools: readExecutables(fields.tools, notes),
    agents: readAgents(fields.agents, notes),
  };
}

function readForeign(format: PluginFormat, fields: ManifestFields, notes: Notes): Partial<PluginManifest> {
  return format === "claude-code" ? readClaudePlugin(fields, notes) : readAgentPlugin(fields, notes);
}

/** If both exist, `id` is the name and `name` is the display name. */
function readName(fields: ManifestFields, notes: Notes): string {
  const key = fields.id === undefined ? "name" : "id";
  const problem = pluginNameProblem(fields[key]);
  if (problem !== null) notes.error([key], problem);
  return String(fields[key] ?? "");
}

function readVersion(fields: ManifestFields, format: PluginFormat, notes: Notes): string {
  const { version } = fields;
  const expected = "expected a version such as 1.2.3";
  if (version === undefined || version === null) {
    if (format === "plugin.toml") notes.error(["version"], `${expected}, found nothing`);
    return unsaidVersion;
  }
  const exact = typeof version === "string" ? semver.valid(version) : null;
  if (exact !== null) return exact;
  // Other programs are lenient about versions; a text without a version is still refused.
  const close = typeof version === "string" && /^v?\d+(\.\d+)?$/.test(version) ? semver.coerce(version) : null;
  if (close === null) notes.error(["version"], `${expected}, found ${found(version)}`);
  else notes.warn(["version"], `${expected}, found ${found(version)}; taken as ${close.version}`);
  return close?.version ?? unsaidVersion;
}

function readRange(value: unknown, at: readonly string[], notes: Notes): string | null {
  if (value === undefined || value === null) return null;
  const range = typeof value === "string" ? rangeOf(value) : null;
  if (range !== null) return range;
  notes.error(at, `expected a range of versions such as ">=0.1" or "^1.2", found ${found(value)}`);
  return null;
}

function readRequires(value: unknown, notes: Notes): Record<string, string> {
  const requires: Record<string, string> = {};
  for (const [name, range] of Object.entries(readMap(value, "requires", notes))) {
    const problem = pluginNameProblem(name);
    if (problem !== null) notes.error(["requires", name], problem);
    else requires[name] = readRange(range, ["requires", name], notes) ?? "*";
  }
  return requires;
}

function readAgents(value: unknown, notes: Notes): unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.slice(0, maxExecutables);
  notes.error(["agents"], `expected a list of agents, found ${found(value)}`);
  return [];
}

function readMap(value: unknown, key: string, notes: Notes): ManifestFields {
  if (value === undefined || value === null) return {};
  if (isRecord(value)) return value;
  notes.error([key], `expected a map, found ${found(value)}`);
  return {};
}

type Text = { text: string } | { diagnostics: PluginDiagnostic[] };

async function readText(dir: string, file: string): Promise<Text | null> {
  const fault = (message: string): Text => ({ diagnostics: [{ level: "error", file, line: null, message }] });
  const path = join(dir, file);
  try {
    const bytes = await readRegular(path, maxBytes);
    return { text: bytes.toString("utf8").replace(/^\uFEFF/, "") };
  } catch (error) {
    return isErrno(error, "ENOENT", "ENOTDIR") ? null : fault(`cannot be read: ${errorText(error)}`);
  }
}
