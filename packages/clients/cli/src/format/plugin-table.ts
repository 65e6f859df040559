/** Plugins as a table, and the details of one plugin. */
import type { HookFailure, PluginDetail, PluginDiagnostic, PluginStatus, PluginView } from "@aegis/contract/plugin.ts";
import { shortPath } from "./agent-table.ts";
import { type Look, table } from "./columns.ts";
import type { Style } from "./style.ts";
import { oneLine } from "./text.ts";
import { clockTime } from "./time.ts";

export function pluginTable(plugins: readonly PluginView[], look: Look): string[] {
  const { style } = look;
  return table(look, ["PLUGIN", "VERSION", "STATUS", "ABOUT"], plugins, (plugin) => [
    { text: plugin.name, paint: style.cyan },
    plugin.version,
    { text: plugin.status, paint: statusPaint(plugin.status, style) },
    aboutText(plugin),
  ]);
}

/** Unsupported parts come before the description: a plugin whose hooks do not run must not look complete. */
function aboutText({ reason, description, unsupported }: PluginView): string {
  const parts = unsupported.map(({ part }) => part).join(", ");
  const without = parts === "" ? "" : `no effect here: ${parts}`;
  return oneLine([reason ?? "", without, reason === null ? description : ""].filter((text) => text !== "").join("; "));
}

export function pluginLines(plugin: PluginDetail, look: Look & { cwd: string }): string[] {
  const { style } = look;
  const { brings } = plugin;
  const facts: readonly (readonly [string, string])[] = [
    ["status", plugin.reason === null ? plugin.status : `${plugin.status}: ${oneLine(plugin.reason)}`],
    ["place", shortPath(plugin.place, look.cwd)],
    ["format", plugin.format],
    ["requires", requirements(plugin)],
    ["modules", plugin.modules.join(", ")],
    ["loaded", plugin.generation === 0 ? "never" : `${plugin.generation} times`],
    ["data", shortPath(plugin.data_dir, look.cwd)],
    ["hooks", brings.hooks.map((hook) => `${hook.event} (${hook.name}${hook.strict ? ", strict" : ""})`).join(", ")],
    ["guards", guardText(plugin.guard)],
    ["tools", brings.tools.map((tool) => tool.name).join(", ")],
    ["workflows", brings.workflows.map((workflow) => workflow.name).join(", ")],
    ["agents", brings.agents.map((agent) => `${plugin.name}:${agent}`).join(", ")],
    ["skills", brings.skills.join(", ")],
    ["commands", brings.commands.map((command) => `/${command.name}`).join(", ")],
    ["reducers", brings.reducers.join(", ")],
    ["channels", brings.channels.map((channel) => channel.name).join(", ")],
    ["no effect", plugin.unsupported.map(({ part }) => part).join(", ")],
    ...plugin.settings.map(
      ({ key, value, required }) =>
        ["setting", `${key} = ${JSON.stringify(value ?? null)}${required ? " (required)" : ""}`] as const,
    ),
  ];
  return [
    `${style.bold(plugin.name)} ${plugin.version}${plugin.critical ? " (critical)" : ""}  ${oneLine(plugin.description)}`,
    ...facts.flatMap(([name, value]) => (value === "" ? [] : [`${style.dim(name.padEnd(10))} ${value}`])),
    ...plugin.diagnostics.map((one) => pluginDiagnostic(one, style)),
    ...plugin.hook_failures.flatMap((failure) => failureLines(failure, style)),
  ];
}

export function pluginDiagnostic({ level, file, line, message }: PluginDiagnostic, style: Style): string {
  const place = file === null ? "" : `${file}${line === null ? "" : `:${line}`}: `;
  const paint = level === "error" ? style.red : level === "warning" ? style.yellow : style.dim;
  return `${place}${paint(level)}: ${oneLine(message)}`;
}

/** The count and the last failure, with its stack trace below. */
function failureLines({ event, hook, count, last_at, kind, error, stack }: HookFailure, style: Style): string[] {
  const times = count === 1 ? "once" : `${count} times`;
  const how = kind === "timeout" ? "timed out" : "failed";
  const head = `hook ${event} (${hook}) ${how} ${times}, last at ${clockTime(last_at)}: ${oneLine(error)}`;
  const frames = (stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return [style.red(head), ...frames.map((frame) => style.dim(`  ${oneLine(frame)}`))];
}

function guardText(guard: PluginDetail["guard"]): string {
  if (guard === null) return "";
  return guard.hooks.map((hook) => (guard.missing.includes(hook) ? `${hook}, missing` : hook)).join("; ");
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
