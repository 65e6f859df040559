/** Plugins for people: a table of all, the facts of one. */
import type { PluginDetail, PluginDiagnostic, PluginStatus, PluginView } from "../../contract/plugin.ts";
import { heading, shortPath } from "./agent-table.ts";
import { type Cell, columns } from "./columns.ts";
import { createStyle, type Style } from "./style.ts";
import { oneLine } from "./text.ts";

export function pluginTable(plugins: readonly PluginView[], options: { color: boolean; width: number }): string[] {
  const style = createStyle(options.color);
  const rows = plugins.map((plugin): Cell[] => [
    { text: plugin.name, paint: style.cyan },
    { text: plugin.version },
    { text: plugin.status, paint: statusPaint(plugin.status, style) },
    { text: oneLine(plugin.reason ?? plugin.description) },
  ]);
  return columns(heading(style, ["PLUGIN", "VERSION", "STATUS", "ABOUT"]), rows, options.width);
}

export function pluginLines(plugin: PluginDetail, options: { color: boolean; width: number; cwd: string }): string[] {
  const style = createStyle(options.color);
  const { brings } = plugin;
  const facts: readonly (readonly [string, string])[] = [
    ["status", plugin.reason === null ? plugin.status : `${plugin.status}: ${oneLine(plugin.reason)}`],
    ["place", shortPath(plugin.place, options.cwd)],
    ["format", plugin.format],
    ["requires", requirements(plugin)],
    ["modules", plugin.modules.join(", ")],
    ["loaded", plugin.generation === 0 ? "never" : `${plugin.generation} times`],
    ["data", shortPath(plugin.data_dir, options.cwd)],
    ["hooks", brings.hooks.map((hook) => `${hook.event} (${hook.name}${hook.strict ? ", strict" : ""})`).join(", ")],
    ["tools", brings.tools.map((tool) => tool.name).join(", ")],
    ["workflows", brings.workflows.map((workflow) => workflow.name).join(", ")],
    ["agents", brings.agents.map((agent) => `${plugin.name}:${agent}`).join(", ")],
    ["skills", brings.skills.join(", ")],
    ["commands", brings.commands.map((command) => `/${command.name}`).join(", ")],
    ["reducers", brings.reducers.join(", ")],
    ...plugin.settings.map(
      ({ key, value, required }) =>
        ["setting", `${key} = ${JSON.stringify(value ?? null)}${required ? " (required)" : ""}`] as const,
    ),
  ];
  return [
    `${style.bold(plugin.name)} ${plugin.version}${plugin.critical ? " (critical)" : ""}  ${oneLine(plugin.description)}`,
    ...facts.flatMap(([name, value]) => (value === "" ? [] : [`${style.dim(name.padEnd(10))} ${value}`])),
    ...plugin.diagnostics.map((one) => pluginDiagnostic(one, style)),
  ];
}

export function pluginDiagnostic({ level, file, line, message }: PluginDiagnostic, style: Style): string {
  const place = file === null ? "" : `${file}${line === null ? "" : `:${line}`}: `;
  const paint = level === "error" ? style.red : level === "warning" ? style.yellow : style.dim;
  return `${place}${paint(level)}: ${oneLine(message)}`;
}

function requirements({ requires_aegis: aegis, requires }: PluginDetail): string {
  const others = Object.entries(requires).map(([name, range]) => `${name} ${range}`);
  return [...(aegis === null ? [] : [`aegis ${aegis}`]), ...others].join(", ");
}

function statusPaint(status: PluginStatus, style: Style): Style["green"] {
  if (status === "loaded") return style.green;
  if (status === "failed") return style.red;
  return status === "disabled" ? style.dim : style.yellow;
}
