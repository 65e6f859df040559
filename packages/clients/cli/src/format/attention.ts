/** One line about configuration that has no effect, with the commands that show details. */
import type { Status } from "@aegis/contract/api.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { oneLine, plural } from "./text.ts";

const namesAtMost = 3;

/** Null if there is nothing to report. An older daemon does not send this field. */
export function attentionLine({ attention }: Partial<Pick<Status, "attention">>): string | null {
  if (attention === undefined) return null;
  const { untrusted, changed, failed } = attention;
  const parts: string[] = [];
  if (untrusted.length > 0) parts.push(`${untrusted.length} not trusted (${named(untrusted)})`);
  if (changed.length > 0) parts.push(`${changed.length} changed since you trusted it (${named(changed)})`);
  const trust = parts.length === 0 ? [] : [`${parts.join(", ")}; has no effect, see: aegis trust --list`];
  const plugins =
    failed.length === 0 ? [] : [`${plural(failed.length, "plugin")} failed (${named(failed)}), see: aegis plugin list`];
  const all = [...trust, ...plugins];
  return all.length === 0 ? null : all.join("; ");
}

/** For commands with another purpose; printed once, before they act. */
export function tellAttention(cx: Terminal, status: Partial<Pick<Status, "attention" | "config_problems">>): void {
  const line = attentionLine(status);
  if (line !== null && !cx.json) cx.warn(cx.style.yellow(line));
  tellProblems(cx, status);
}

/** For commands that start something: it starts with the settings from before the invalid edit. */
export function tellProblems(cx: Terminal, { config_problems = [] }: Partial<Pick<Status, "config_problems">>): void {
  if (cx.json) return;
  const more = config_problems.length - namesAtMost;
  const style = cx.style;
  for (const problem of config_problems.slice(0, namesAtMost)) cx.warn(style.yellow(`problem: ${oneLine(problem)}`));
  if (more > 0) cx.warn(style.yellow(`and ${plural(more, "more problem")}, see: aegis status`));
}

function named(names: readonly string[]): string {
  const more = names.length - namesAtMost;
  const shown = names.slice(0, namesAtMost).map(oneLine).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** Says how many plugins are still being loaded. */
export function loadingWords({ plugins_loading }: Pick<Status, "plugins_loading">): string {
  return `${plural(plugins_loading, "plugin")} still loading; what they guard or provide waits for them.`;
}
