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
import type { McpProgram } from "@aegis/project/harnesses/mcp-targets.ts";
import type { Handler } from "../../program/command.ts";
import { CliError, usageError } from "../../program/failure.ts";
import { confirm } from "../../terminal/confirm.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { mcpCommands } from "./spec.ts";

export const install: Handler<typeof mcpCommands.install> = async (cx, { program, scope, print, yes }) => {
  const target = await targetOf(program);
  const root = findProjectRoot(cx.cwd);
  if (!existsSync(join(root, configFileName)) && !existsSync(storePath(root)))
    cx.warn(`${root} is not a project yet; run aegis init here, or name a project with --project`);
  const entry: Entry = {
    // Programs with a window do not have the PATH of the user's shell.
    command: process.execPath,
    args: [commandLine(), "--project", root, "mcp", "--client", target.name],
  };
  const place = settingsFile(target, scope, { root, env: cx.env, platform: process.platform });
  if (place === null) throw usageError(`${target.name} has no settings file of a project`, "use --scope user");
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
    `Added Aegis to ${target.name}. Restart ${target.name}, or reload its MCP servers.`,
    ...(backup === null ? [] : [`The file as it was before: ${backup}`]),
  ]);
};

async function targetOf(program: string): Promise<McpProgram> {
  const { mcpPrograms } = await import("@aegis/project/harnesses/mcp-targets.ts");
  const found = mcpPrograms.find(({ name }) => name === program);
  if (found !== undefined) return found;
  const names = mcpPrograms.map(({ name }) => name);
  throw usageError(`no program "${program}"${didYouMean(program, names)}`, `expected ${names.join(", ")}`);
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
  target: McpProgram,
  scope: "user" | "project",
  { root, env, platform }: Machine,
): string | null {
  if (scope === "user") return target.userFile({ home: homeOf(env), env, platform });
  return target.projectFile === null ? null : join(root, target.projectFile);
}

/** The entry as it stands in the file, to paste by hand. */
export function snippet(target: McpProgram, entry: Entry): string {
  return target.format === "toml"
    ? toml(target.key, entry)
    : JSON.stringify({ [target.key]: { [serverName]: target.entry(entry.command, entry.args) } }, null, 2);
}

/** The file with the entry. Throws if the file cannot be edited without losing something. */
export function edited(target: McpProgram, text: string, entry: Entry, file: string): string {
  return target.format === "toml" ? withToml(target, text, entry) : withJson(target, text, entry, file);
}

function withJson(target: McpProgram, text: string, entry: Entry, file: string): string {
  const settings = text.trim() === "" ? {} : parsed(text);
  const { key } = target;
  const servers = isRecord(settings) ? (settings[key] ?? {}) : null;
  if (!isRecord(settings) || !isRecord(servers)) {
    throw new CliError(exitCodes.failed, `${file} cannot be edited without losing comments or unknown content`, {
      hint: `add this by hand:\n${snippet(target, entry)}`,
    });
  }
  const next = { ...settings, [key]: { ...servers, [serverName]: target.entry(entry.command, entry.args) } };
  if (JSON.stringify(next) === JSON.stringify(settings)) return text;
  return `${JSON.stringify(next, null, indentOf(text))}\n`;
}

/** A table at the end of the file leaves everything before it as it is. */
function withToml({ key }: McpProgram, text: string, entry: Entry): string {
  const own = new RegExp(`^\\[${key}\\.${serverName}\\][^\\n]*\\n(?:(?!\\[).*(?:\\n|$))*`, "m");
  if (own.test(text)) return text.replace(own, () => toml(key, entry));
  return text === "" ? toml(key, entry) : `${text.trimEnd()}\n\n${toml(key, entry)}`;
}

/** A JSON string is also a TOML basic string. */
function toml(key: string, { command, args }: Entry): string {
  const list = args.map((arg) => JSON.stringify(arg)).join(", ");
  return `[${key}.${serverName}]\ncommand = ${JSON.stringify(command)}\nargs = [${list}]\n`;
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
