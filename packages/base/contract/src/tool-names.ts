/**
 * Tool names as people write them in an agent's `tools`: Aegis's names, Claude Code's names, patterns, and
 * `plugin:tool`.
 */
import type { Permission } from "./agent.ts";

export type CoreTool = {
  name: string;
  needs: Exclude<Permission, "auto">;
  /** The equivalent names in Claude Code. */
  claude: readonly string[];
};

/** The tools of the native loop. Their names are reserved everywhere. */
export const coreTools: readonly CoreTool[] = [
  { name: "read", needs: "read", claude: ["Read", "NotebookRead"] },
  { name: "write", needs: "write", claude: ["Write"] },
  { name: "edit", needs: "write", claude: ["Edit", "MultiEdit", "NotebookEdit"] },
  { name: "bash", needs: "write", claude: ["Bash", "BashOutput", "KillShell"] },
  { name: "grep", needs: "read", claude: ["Grep"] },
  { name: "glob", needs: "read", claude: ["Glob"] },
  { name: "ls", needs: "read", claude: ["LS"] },
  { name: "fetch", needs: "read", claude: ["WebFetch"] },
  { name: "todo", needs: "read", claude: ["TodoWrite"] },
];

/** The plane's server name in a harness, where its tools are called `mcp__aegis__*`. */
export const planeServer = "aegis";

/** Tools that only Claude Code has. */
const claudeOnly: readonly string[] = [
  ...["Agent", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Monitor", "PowerShell", "Skill", "SlashCommand"],
  ...["Task", "TaskOutput", "TaskStop", "ToolSearch", "WebSearch"],
];

const coreByName = new Map(
  coreTools.flatMap((tool) => [tool.name, ...tool.claude].map((name): [string, CoreTool] => [name, tool])),
);
const planeWords = new Set(["agent", "agent_ask", "load_skill", "search_skills", "skill_install"]);
const claudeOnlyNames = new Set(claudeOnly);

export type ToolEntry = {
  /** The entry as written. */
  text: string;
  /** A restriction to part of the tool, such as `git:*` in `Bash(git:*)`. */
  limit: string | null;
  /** The plugin that the tool must belong to, or null for any owner. */
  plugin: string | null;
  /** Exact if it contains no `*`. */
  pattern: string;
  /** Tools of the plane only. */
  planeOnly: boolean;
  /** True if the entry can only match a tool of the harness itself. */
  coreOnly: boolean;
};

export function parseToolEntry(text: string): ToolEntry {
  const limited = text.endsWith(")") ? /^([^()]+)\((.*)\)$/s.exec(text) : null;
  const name = (limited?.[1] ?? text).trim();
  const limit = limited === null || limited[2] === "*" ? null : (limited[2] ?? null);
  const prefix = `mcp__${planeServer}`;
  if (name === prefix || name.startsWith(`${prefix}__`)) {
    const pattern = name.slice(prefix.length + 2) || "*";
    return { text, limit, plugin: null, pattern, planeOnly: true, coreOnly: false };
  }
  const colon = name.indexOf(":");
  if (colon > 0) {
    const [plugin, pattern] = [name.slice(0, colon), name.slice(colon + 1)];
    return { text, limit, plugin, pattern, planeOnly: true, coreOnly: false };
  }
  const core = coreByName.get(name);
  const coreOnly = core !== undefined || claudeOnlyNames.has(name);
  return { text, limit, plugin: null, pattern: core?.name ?? name, planeOnly: false, coreOnly };
}

export function matchesEntry(
  entry: ToolEntry,
  tool: { name: string; kind: "core" | "plane" | "plugin"; plugin: string | null },
): boolean {
  if (entry.planeOnly && tool.kind === "core") return false;
  if (entry.plugin !== null && entry.plugin !== tool.plugin) return false;
  if (entry.pattern === tool.name || entry.pattern === "*") return true;
  return entry.pattern.includes("*") && matchesPattern(tool.name, entry.pattern);
}

/** Returns whether a name is reserved for the native loop or the plane, even if that tool is not loaded. */
export function isReservedTool(name: string): boolean {
  return (
    coreByName.has(name) || claudeOnlyNames.has(name) || /^(aegis|sessions|mcp)_/.test(name) || planeWords.has(name)
  );
}

/** Returns true for a name that only a specific harness understands. */
export function isHarnessTool(name: string): boolean {
  return claudeOnlyNames.has(name);
}

/** Returns Claude Code's names for the tools that an entry matches; empty for plane tools. */
export function claudeNames(text: string): string[] {
  const entry = parseToolEntry(text);
  if (entry.planeOnly) return [];
  if (claudeOnlyNames.has(entry.pattern)) return [entry.pattern];
  return coreTools
    .filter((tool) => matchesEntry(entry, { ...tool, kind: "core", plugin: null }))
    .flatMap((tool) => tool.claude);
}

/** Only `*` is special. Uses no regular expression, so that no pattern can make it slow. */
export function matchesPattern(name: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop() ?? "";
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > name.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}
