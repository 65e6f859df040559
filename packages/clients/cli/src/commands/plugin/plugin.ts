/** `aegis plugin list|show|reload|enable|disable|validate|logs`: manages installed plugins. */
import { join, relative, resolve } from "node:path";
import type { PluginDetail, PluginDiagnostic, PluginView } from "@aegis/contract/plugin.ts";
import { findProjectRoot, stateDir } from "@aegis/lib/daemon-file.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { findDaemon } from "../../daemon/connection.ts";
import { commandTable } from "../../format/command-table.ts";
import { pluginDiagnostic, pluginLines, pluginTable } from "../../format/plugin-table.ts";
import { plainText } from "../../format/text.ts";
import { clockTime } from "../../format/time.ts";
import type { Exit, Handler } from "../../program/command.ts";
import { given } from "../../program/given.ts";
import { exitCodes } from "../../terminal/context.ts";
import { showNewFile, showTail } from "../../terminal/tail-file.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { projectOf } from "../project/project-of.ts";
import type { pluginCommands, slashCommandCommands } from "./spec.ts";

export const pluginList: Handler<typeof pluginCommands.list> = async (cx) => {
  const { plugins, missing_gates } = await cx.call("listPlugins");
  cx.show({ plugins, missing_gates }, () => listLines(cx, plugins));
  for (const { plugin, hooks, reason } of missing_gates) {
    cx.warn(`gates of ${plugin} are missing, so the actions they guard are refused: ${hooks.join(", ")}: ${reason}`);
    cx.warn(`  decide with: aegis plugin accept ${plugin}, or aegis plugin drop ${plugin}`);
  }
};

export const pluginShow: Handler<typeof pluginCommands.show> = async (cx, args) => {
  const { plugin } = await cx.call("getPlugin", { path: { plugin: args.plugin } });
  cx.show({ plugin }, () => pluginLines(plugin, cx));
};

/** Fails if the named plugin does not run after the reload. */
export const pluginReload: Handler<typeof pluginCommands.reload> = async (cx, args) => {
  const { plugins } = await cx.call("reloadPlugins", { body: given({ plugin: args.plugin }) });
  const named = plugins.filter((plugin) => args.plugin === undefined || plugin.name === args.plugin);
  cx.show({ plugins: named }, () => listLines(cx, named));
  const isBroken = args.plugin !== undefined && named.some((plugin) => plugin.reason !== null);
  return isBroken ? exitCodes.failed : exitCodes.ok;
};

/** Edits `plugins.deny` in the project file and keeps comments; a running daemon applies the change. */
export async function pluginSwitch(cx: Terminal, args: { plugin: string; on: boolean }): Exit {
  const { allowPlugin, denyPlugin } = await import("@aegis/project/config/changes.ts");
  const project = await projectOf(cx);
  const change = args.on ? allowPlugin : denyPlugin;
  const { file, changed } = await change(project, args.plugin);
  // Disabling a plugin with this command is the person's decision to drop its gates.
  const { dropGatesOf } = await import("./gates.ts");
  const dropped_gates = args.on ? [] : await dropGatesOf(cx, args.plugin);
  const running = await findDaemon(cx);
  await running?.client.call("reloadPlugins", { body: {} });
  const state = args.on ? "enabled" : "disabled";
  const told = changed ? `${args.plugin} is ${state} (${file})` : `${args.plugin} was ${state} already`;
  cx.show({ ok: true, plugin: args.plugin, state, changed, file: join(project.root, file), dropped_gates }, told);
}

export const pluginValidate: Handler<typeof pluginCommands.validate> = async (cx, args) => {
  const { validatePlugin } = await import("@aegis/project/plugins/validate.ts");
  const { takenNames } = await import("./taken-names.ts");
  const taken = args.load ? await takenNames(cx).catch(() => []) : [];
  const result = await validatePlugin(resolve(cx.cwd, args.path), { load: args.load, env: cx.env, cwd: cx.cwd, taken });
  cx.show(result, () => showValidation(cx, result));
  return result.ok ? exitCodes.ok : exitCodes.failed;
};

export const pluginLogs: Handler<typeof pluginCommands.logs> = async (cx, args) => {
  const path = join(stateDir(findProjectRoot(cx.cwd)), "plugin-logs", `${args.plugin}.jsonl`);
  const show = (line: string) => cx.print(cx.json ? line : logLine(cx, line));
  try {
    await showTail(cx, path, { follow: args.follow, lines: args.lines }, show);
    return;
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
  }
  await cx.call("getPlugin", { path: { plugin: args.plugin } });
  cx.warn(`the plugin "${args.plugin}" has logged nothing yet`);
  if (args.follow) await showNewFile(cx, path, show);
};

function listLines(cx: Terminal, plugins: readonly PluginView[]): string[] {
  if (plugins.length > 0) return pluginTable(plugins, cx);
  return ["No plugins here. Put a module in .aegis/plugins, or install one with: aegis plugin install"];
}

type Validation = { ok: boolean; plugin: PluginDetail; place: string };

function showValidation(cx: Terminal, { ok, plugin, place }: Validation): void {
  const style = cx.style;
  const shown = relative(cx.cwd, place) || ".";
  for (const one of plugin.diagnostics.filter((diagnostic: PluginDiagnostic) => diagnostic.level !== "info"))
    cx.warn(pluginDiagnostic(one, style));
  cx.print(ok ? `${style.green("ok")}  ${shown}: ${plugin.name} ${plugin.version}` : `${style.red("wrong")}  ${shown}`);
}

function logLine(cx: Terminal, line: string): string {
  const style = cx.style;
  try {
    const { at, level, text } = JSON.parse(line) as { at: number; level: string; text: string };
    const paint = level === "error" ? style.red : level === "warn" ? style.yellow : style.dim;
    return `${style.dim(clockTime(at))} ${paint(level.padEnd(5))} ${plainText(text)}`;
  } catch {
    return plainText(line);
  }
}

/** `aegis command list`: the slash commands of this project. */
export const commandList: Handler<typeof slashCommandCommands.list> = async (cx) => {
  const answer = await cx.call("listCommands");
  const none = "No commands here. Create one in .aegis/commands/<name>.md";
  cx.show(answer, () => {
    cx.tell(answer.commands.length === 0 ? none : commandTable(answer.commands, cx));
    for (const one of answer.diagnostics) cx.warn(pluginDiagnostic(one, cx.style));
  });
};
