/** `aegis plugin list|show|reload|enable|disable|validate|logs`: the plugins that are there. */
import { join, relative, resolve } from "node:path";
import type { PluginDetail, PluginDiagnostic, PluginView } from "../../contract/plugin.ts";
import { findProjectRoot, stateDir } from "../../lib/daemon-file.ts";
import { isErrno } from "../../lib/files.ts";
import { ensureDaemon, findDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { pluginDiagnostic, pluginLines, pluginTable } from "../format/plugin-table.ts";
import { createStyle } from "../format/style.ts";
import { plainText } from "../format/text.ts";
import { clockTime } from "../format/time.ts";
import { showNewFile, showTail } from "../tail-file.ts";
import type { Terminal } from "../terminal.ts";

const defaultLines = 50;

export async function pluginList(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { plugins } = await client.call("listPlugins");
  showList(cx, plugins);
  return exitCodes.ok;
}

export async function pluginShow(cx: Terminal, args: { plugin: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { plugin } = await client.call("getPlugin", { path: { plugin: args.plugin } });
  if (cx.json) cx.printJson({ plugin });
  else for (const line of pluginLines(plugin, { color: cx.color, width: cx.columns, cwd: cx.cwd })) cx.print(line);
  return exitCodes.ok;
}

/** Fails when the plugin that was named does not run afterwards. */
export async function pluginReload(cx: Terminal, args: { plugin: string | undefined }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const body = args.plugin === undefined ? {} : { plugin: args.plugin };
  const { plugins } = await client.call("reloadPlugins", { body });
  const named = plugins.filter((plugin) => args.plugin === undefined || plugin.name === args.plugin);
  showList(cx, named);
  const isBroken = args.plugin !== undefined && named.some((plugin) => plugin.reason !== null);
  return isBroken ? exitCodes.failed : exitCodes.ok;
}

/** Edits `plugins.deny` of the project's file, comments kept; a running daemon takes it over. */
export async function pluginSwitch(cx: Terminal, args: { plugin: string; on: boolean }): Promise<number> {
  const { allowPlugin, denyPlugin } = await import("../../daemon/config/changes.ts");
  const { harnessNames } = await import("../../daemon/checkup.ts");
  const root = findProjectRoot(cx.cwd);
  const project = { root, harnesses: harnessNames(root, cx.env) };
  const change = args.on ? allowPlugin : denyPlugin;
  const { file, changed } = await change(project, args.plugin);
  const running = await findDaemon(cx);
  if (running !== null) {
    await running.client.call("reloadConfig");
    await running.client.call("reloadPlugins", { body: {} });
  }
  const state = args.on ? "enabled" : "disabled";
  if (cx.json) cx.printJson({ ok: true, plugin: args.plugin, state, changed, file: join(root, file) });
  else cx.print(changed ? `${args.plugin} is ${state} (${file})` : `${args.plugin} was ${state} already`);
  return exitCodes.ok;
}

export async function pluginValidate(cx: Terminal, args: { path: string; load: boolean }): Promise<number> {
  const { validatePlugin } = await import("../../daemon/plugins/validate.ts");
  const result = await validatePlugin(resolve(cx.cwd, args.path), { load: args.load, env: cx.env, cwd: cx.cwd });
  if (cx.json) cx.printJson(result);
  else showValidation(cx, result);
  return result.ok ? exitCodes.ok : exitCodes.failed;
}

export async function pluginLogs(
  cx: Terminal,
  args: { plugin: string; follow: boolean; lines: number | undefined },
): Promise<number> {
  const path = join(stateDir(findProjectRoot(cx.cwd)), "plugin-logs", `${args.plugin}.jsonl`);
  const show = (line: string) => cx.print(cx.json ? line : logLine(cx, line));
  try {
    await showTail(cx, path, { follow: args.follow, lines: args.lines ?? defaultLines }, show);
    return exitCodes.ok;
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
  }
  const { client } = await ensureDaemon(cx);
  await client.call("getPlugin", { path: { plugin: args.plugin } });
  cx.warn(`the plugin "${args.plugin}" has logged nothing yet`);
  if (args.follow) await showNewFile(cx, path, show);
  return exitCodes.ok;
}

function showList(cx: Terminal, plugins: readonly PluginView[]): void {
  if (cx.json) {
    cx.printJson({ plugins });
    return;
  }
  if (plugins.length === 0) {
    cx.print("No plugins here. Put a module into .aegis/plugins, or install one with: aegis plugin install");
    return;
  }
  for (const line of pluginTable(plugins, { color: cx.color, width: cx.columns })) cx.print(line);
}

type Validation = { ok: boolean; plugin: PluginDetail; place: string };

function showValidation(cx: Terminal, { ok, plugin, place }: Validation): void {
  const style = createStyle(cx.color);
  const shown = relative(cx.cwd, place) || ".";
  for (const one of plugin.diagnostics.filter((diagnostic: PluginDiagnostic) => diagnostic.level !== "info"))
    cx.warn(pluginDiagnostic(one, style));
  cx.print(ok ? `${style.green("ok")}  ${shown}: ${plugin.name} ${plugin.version}` : `${style.red("wrong")}  ${shown}`);
}

function logLine(cx: Terminal, line: string): string {
  const style = createStyle(cx.color);
  try {
    const { at, level, text } = JSON.parse(line) as { at: number; level: string; text: string };
    const paint = level === "error" ? style.red : level === "warn" ? style.yellow : style.dim;
    return `${style.dim(clockTime(at))} ${paint(level.padEnd(5))} ${plainText(text)}`;
  } catch {
    return plainText(line);
  }
}
