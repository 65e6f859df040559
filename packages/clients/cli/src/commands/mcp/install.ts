/** `aegis mcp install`: adds Aegis to the MCP servers in another program's settings, after showing the change. */

import { existsSync } from "node:fs";
import { mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { commandLine } from "@aegis/client/project/start-daemon.ts";
import { configFileName, findProjectRoot, storePath } from "@aegis/lib/daemon-file.ts";
import { ifMissing, writeAtomic } from "@aegis/lib/files.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { unifiedDiff } from "@aegis/lib/unified-diff.ts";
import type { Handler } from "../../program/command.ts";
import { CliError, usageError } from "../../program/failure.ts";
import { confirm } from "../../terminal/confirm.ts";
import { exitCodes } from "../../terminal/context.ts";
import { type InstallTarget, installTargets, type mcpCommands } from "./spec.ts";

export const install: Handler<typeof mcpCommands.install> = async (cx, { program, scope, print, yes }) => {
  const target = targetOf(program);
  const root = findProjectRoot(cx.cwd);
  if (!existsSync(join(root, configFileName)) && !existsSync(storePath(root)))
    cx.warn(`${root} is not a project yet; run aegis init here, or name a project with --project`);
  const entry: Entry = {
    // Programs with a window do not have the PATH of the user's shell.
    command: process.execPath,
    args: [commandLine(), "--project", root, "mcp", "--client", target],
  };
  const place = settingsFile(target, scope, { root, env: cx.env, platform: process.platform });
  if (place === null) throw usageError(`${target} has no settings file of a project`, "use --scope user");
  if (print) {
    cx.show({ file: place, entry: snippet(target, entry) }, [place, "", snippet(target, entry)]);
    return;
  }
  const file = await realpath(place).catch(() => place);
  const before = await readFile(file, "utf8").catch(ifMissing(null));
  const after = edited(target, before ?? "", entry, place);
  if (after === before) {
    cx.show({ file: place, changed: false }, `${place} already has this entry.`);
    return;
  }
  cx.tell([place, ...unifiedDiff(before ?? "", after), ""]);
  if (!yes) {
    if (!cx.interactive)
      throw usageError(
        "this needs confirmation, and standard input is not a terminal",
        "add --yes to write the file, or --print",
      );
    if (!(await confirm(cx, "Write this?"))) {
      cx.tell("Nothing was changed.");
      return exitCodes.failed;
    }
  }
  const mode = before === null ? 0o600 : (await stat(file)).mode & 0o777;
  const backup = before === null ? null : `${file}.before-aegis`;
  if (before === null) await mkdir(dirname(file), { recursive: true });
  if (backup !== null && before !== null) await writeAtomic(backup, before, { mode });
  await writeAtomic(file, after, { mode });
  cx.show({ file: place, changed: true, backup }, [
    `Added Aegis to ${target}. Restart ${target}, or reload its MCP servers.`,
    ...(backup === null ? [] : [`The file as it was before: ${backup}`]),
  ]);
};

function targetOf(program: string): InstallTarget {
  const found = installTargets.find((target) => target === program);
  if (found !== undefined) return found;
  throw usageError(
    `no program "${program}"${didYouMean(program, installTargets)}`,
    `expected ${installTargets.join(", ")}`,
  );
}

type Entry = { command: string; args: readonly string[] };

type Machine = {
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
