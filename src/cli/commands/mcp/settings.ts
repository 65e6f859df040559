/** The settings files of programs that use MCP servers, and how Aegis is added to them. */
import { join } from "node:path";
import { homeOf } from "../../../lib/home.ts";
import { CliError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { InstallTarget } from "./targets.ts";

export type Entry = { command: string; args: readonly string[] };

export type Machine = {
  root: string;
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
};

const serverName = "aegis";

/** Where the program reads MCP servers from; null if it has no file of that scope. */
export function settingsFile(
  target: InstallTarget,
  scope: "user" | "project",
  { root, env, platform }: Machine,
): string | null {
  const home = homeOf(env);
  const config = env.XDG_CONFIG_HOME || join(home, ".config");
  const inProject: Partial<Record<InstallTarget, string>> = {
    "claude-code": ".mcp.json",
    codex: ".codex/config.toml",
    cursor: ".cursor/mcp.json",
    gemini: ".gemini/settings.json",
    vscode: ".vscode/mcp.json",
    zed: ".zed/settings.json",
  };
  if (scope === "project") return inProject[target] === undefined ? null : join(root, inProject[target]);
  const applications = join(home, "Library", "Application Support");
  const roaming = env.APPDATA || join(home, "AppData", "Roaming");
  const program = (name: string) =>
    join(platform === "darwin" ? applications : platform === "win32" ? roaming : config, name);
  const ofUser: Record<InstallTarget, string> = {
    "claude-code": join(home, ".claude.json"),
    "claude-desktop": join(program("Claude"), "claude_desktop_config.json"),
    codex: join(env.CODEX_HOME || join(home, ".codex"), "config.toml"),
    cursor: join(home, ".cursor", "mcp.json"),
    gemini: join(home, ".gemini", "settings.json"),
    vscode: join(program("Code"), "User", "mcp.json"),
    windsurf: join(home, ".codeium", "windsurf", "mcp_config.json"),
    zed: platform === "win32" ? join(roaming, "Zed", "settings.json") : join(config, "zed", "settings.json"),
  };
  return ofUser[target];
}

/** The entry as it stands in the file, to paste by hand. */
export function snippet(target: InstallTarget, entry: Entry): string {
  return target === "codex"
    ? toml(entry)
    : JSON.stringify({ [keyOf(target)]: { [serverName]: json(target, entry) } }, null, 2);
}

/** The file with the entry. Throws if the file cannot be edited without losing something. */
export function edited(target: InstallTarget, text: string, entry: Entry, file: string): string {
  return target === "codex" ? withToml(text, entry) : withJson(target, text, entry, file);
}

function withJson(target: InstallTarget, text: string, entry: Entry, file: string): string {
  const settings = text.trim() === "" ? {} : parsed(text);
  const key = keyOf(target);
  const servers = isRecord(settings) ? (settings[key] ?? {}) : null;
  if (!isRecord(settings) || !isRecord(servers)) {
    throw new CliError(exitCodes.failed, `${file} cannot be edited without losing comments or unknown content`, {
      hint: `add this by hand:\n${snippet(target, entry)}`,
    });
  }
  const next = { ...settings, [key]: { ...servers, [serverName]: json(target, entry) } };
  if (JSON.stringify(next) === JSON.stringify(settings)) return text;
  return `${JSON.stringify(next, null, indentOf(text))}\n`;
}

/** A table at the end of the file leaves everything before it as it is. */
function withToml(text: string, entry: Entry): string {
  const own = new RegExp(`^\\[mcp_servers\\.${serverName}\\][^\\n]*\\n(?:(?!\\[).*(?:\\n|$))*`, "m");
  if (own.test(text)) return text.replace(own, () => toml(entry));
  return text === "" ? toml(entry) : `${text.trimEnd()}\n\n${toml(entry)}`;
}

/** A JSON string is also a TOML basic string. */
function toml({ command, args }: Entry): string {
  const list = args.map((arg) => JSON.stringify(arg)).join(", ");
  return `[mcp_servers.${serverName}]\ncommand = ${JSON.stringify(command)}\nargs = [${list}]\n`;
}

function json(target: InstallTarget, { command, args }: Entry): Record<string, unknown> {
  switch (target) {
    case "claude-code":
      // Otherwise Claude Code hides the tools behind its tool search.
      return { type: "stdio", command, args, alwaysLoad: true };
    case "vscode":
      return { type: "stdio", command, args };
    case "gemini":
      // Longer than the longest wait of a tool.
      return { command, args, timeout: 60_000 };
    default:
      return { command, args };
  }
}

function keyOf(target: InstallTarget): string {
  return target === "vscode" ? "servers" : target === "zed" ? "context_servers" : "mcpServers";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function indentOf(text: string): string {
  return /^([ \t]+)"/m.exec(text)?.[1] ?? "  ";
}

function isRecord(given: unknown): given is Record<string, unknown> {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}
