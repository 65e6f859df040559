/** Reads manifests of plugins for other programs: Claude Code and Agent Plugins 1.0. None of their code is loaded. */

import type { PluginManifest } from "@aegis/contract/plugin.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { unsupportedReasons } from "./claude-parts.ts";
import { type FieldPath, found, type Notes } from "./notes.ts";
import { readSettings } from "./settings.ts";
import type { ManifestFields } from "./source.ts";

export const agentPluginSchema = /^https:\/\/agent-plugins\.org\/schemas\/1\.0\.0\/plugin\.schema\.json$/;

const claudeKnown: readonly string[] = [
  ...["name", "displayName", "version", "description", "author", "homepage", "repository", "license", "keywords"],
  ...["metadata", "defaultEnabled", "dependencies", "userConfig", "skills", "commands", "agents"],
];
/** Keys that Claude Code uses and Aegis ignores, with the reason. */
const claudeIgnored: Readonly<Record<string, string>> = {
  hooks: unsupportedReasons.hooks,
  mcpServers: unsupportedReasons.mcp,
  lspServers: unsupportedReasons.lsp,
  workflows: "Aegis does not run Claude Code workflows",
  outputStyles: unsupportedReasons.styles,
  channels: "Aegis does not run Claude Code channels",
  experimental: "Aegis does not support experimental Claude Code features",
};
const agentPluginKnown: readonly string[] = [
  ...["name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions"],
];

type Foreign = Pick<PluginManifest, "folders" | "config_schema" | "requires" | "title" | "unsupported">;

export function readClaudePlugin(fields: ManifestFields, notes: Notes): Foreign {
  notes.unknownKeys(fields, [...claudeKnown, ...Object.keys(claudeIgnored)]);
  const ignored = Object.entries(claudeIgnored).filter(([key]) => fields[key] !== undefined);
  for (const [key, reason] of ignored) notes.warn([key], `has no effect here: ${reason}`);
  return {
    title: notes.text(fields, "displayName"),
    unsupported: ignored.map(([key, reason]) => ({ part: `${key} (manifest)`, reason })),
    folders: {
      agents: paths(fields.agents, "agents", ["agents"], notes),
      commands: paths(fields.commands, "commands", ["commands"], notes),
      skills: [...new Set(["skills", ...paths(fields.skills, "skills", ["skills"], notes)])],
    },
    config_schema: readSettings(fields.userConfig, ["userConfig"], notes),
    requires: dependencies(fields.dependencies, notes),
  };
}

export function readAgentPlugin(fields: ManifestFields, notes: Notes): Foreign {
  notes.unknownKeys(fields, agentPluginKnown);
  return {
    title: null,
    unsupported: [],
    folders: { agents: [], commands: [], skills: ["skills"] },
    config_schema: {},
    requires: {},
  };
}

/** One path or several, each inside the plugin; `usual` if none is given. */
function paths(value: unknown, key: string, usual: readonly string[], notes: Notes): string[] {
  if (value === undefined || value === null) return [...usual];
  const list = typeof value === "string" ? [value] : value;
  if (!Array.isArray(list)) {
    notes.error([key], `expected a path or a list of paths, found ${found(value)}`);
    return [];
  }
  return list.flatMap((path, index) => {
    const at: FieldPath = typeof value === "string" ? [key] : [key, index];
    if (typeof path === "string" && isLocal(path)) return [path.replace(/^\.\//, "") || "."];
    notes.error(at, `expected a path inside the plugin that begins with ./, found ${found(path)}`);
    return [];
  });
}

function isLocal(path: string): boolean {
  return (path === "." || path.startsWith("./")) && !path.split(/[/\\]/).includes("..") && !path.includes("\0");
}

function dependencies(value: unknown, notes: Notes): Record<string, string> {
  if (value === undefined || value === null) return {};
  if (!Array.isArray(value)) {
    notes.error(["dependencies"], `expected a list, found ${found(value)}`);
    return {};
  }
  const requires: Record<string, string> = {};
  for (const [index, entry] of value.entries()) {
    if (typeof entry === "string") requires[entry] = "*";
    else if (isRecord(entry) && typeof entry.name === "string") requires[entry.name] = String(entry.version ?? "*");
    else notes.error(["dependencies", index], `expected a plugin's name, found ${found(entry)}`);
  }
  return requires;
}
