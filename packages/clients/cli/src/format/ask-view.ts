/** Asks for people: as one line, and in full. Text from agents is always on its own line or behind a bar. */
import { textField } from "@aegis/client/views/tool-words.ts";
import type { Ask, AskChange } from "@aegis/contract/ask.ts";
import type { Sender } from "@aegis/contract/message.ts";
import { unifiedDiff } from "@aegis/lib/unified-diff.ts";
import type { Style } from "./style.ts";
import { duration, relativeTime } from "./time.ts";
import { visible, visibleLine } from "./visible.ts";

export type AskViewOptions = { style: Style; now: number };

/** Enough of an id to identify one of the open asks. */
export function shortAskId(id: string): string {
  return id.slice(-6);
}

/** The action in one line: the actual action, not the agent's description of it. */
export function actionLine(ask: Ask): string {
  const { tool, detail, changes = [] } = ask;
  if (tool === null) return visibleLine(ask.question);
  const command = textField(detail, "command");
  if (command !== null) return visibleLine(`${tool}: ${command}`);
  if (changes.length > 0) return visibleLine(`${tool}: ${changes.map(changeSummary).join(", ")}`);
  return visibleLine(ask.question.includes(tool) ? ask.question : `${tool}: ${ask.question}`);
}

/** Whether the line shows the whole action. */
export function isWholeLine({ tool, detail, changes = [] }: Ask): boolean {
  if (changes.length > 0) return false;
  if (typeof detail !== "object" || detail === null) return detail === null || detail === undefined;
  const fields = Object.keys(detail);
  return tool === null || fields.length === 0 || (fields.length === 1 && textField(detail, "command") !== null);
}

/** Everything a person needs to know to answer. */
export function askLines(ask: Ask, options: AskViewOptions): string[] {
  const { style } = options;
  const row = (name: string, text: string) => `  ${style.dim(name.padEnd(9))}${text}`;
  const { reason = null, cwd = null, omitted = 0 } = ask;
  return [
    row("ask", `${ask.id} ${style.dim(`(${shortAskId(ask.id)}, digest ${ask.digest.slice(0, 16)})`)}`),
    ...originLines(ask).map(([name, text]) => row(name, text)),
    ...(cwd === null ? [] : [row("folder", visibleLine(cwd))]),
    ...(reason === null || ask.question.includes(reason) ? [] : [row("reason", visibleLine(reason))]),
    ...(ask.tool === null ? [] : [row("tool", visibleLine(ask.tool))]),
    ...actionLines(ask, style),
    ...(omitted === 0
      ? []
      : [style.red(`  This is not complete: ${omitted} characters were not stored. The digest covers them.`)]),
    row(...statusRow(ask, options.now)),
    row("choices", choiceLine(ask)),
  ];
}

/** The action in full: the diff of each file, then every other field of the input. */
export function actionLines({ detail, changes = [], reason, cwd }: Ask, style: Style): string[] {
  const shown = new Set<unknown>([reason, cwd].filter((text) => text !== null));
  const lines: string[] = [];
  for (const change of changes) {
    for (const text of [change.path, change.before, change.after, change.patch]) if (text !== null) shown.add(text);
    lines.push(
      `  ${style.dim("file".padEnd(9))}${visibleLine(change.path)}${change.note === null ? "" : ` (${visibleLine(change.note)})`}`,
    );
    lines.push(...diffLines(change).map((line) => bar(paintDiff(visible(line), style), style)));
  }
  if (detail === null || detail === undefined) return lines;
  if (typeof detail !== "object" || Array.isArray(detail)) return [...lines, ...block(detail, style)];
  const above: string[] = [];
  for (const [name, value] of Object.entries(detail)) {
    if (value === undefined || value === null) continue;
    const rest = changes.length === 0 ? value : without(value, shown);
    if (rest === undefined) above.push(name);
    else lines.push(`  ${style.dim(visibleLine(name))}`, ...block(rest, style));
  }
  if (above.length > 0) lines.push(`  ${style.dim(`shown above: ${visibleLine(above.join(", "))}`)}`);
  return lines;
}

/** How an ask ended, in a few words. */
export function askEnd({
  status,
  answer,
  settled_by: by,
  settled_reason: reason,
}: Pick<Ask, "status" | "answer" | "settled_by" | "settled_reason">): string {
  if (status === "open") return "open";
  if (status !== "answered" || answer === null) return reason ? `${status}: ${reason}` : status;
  const said = [answer.choice, answer.text].filter((text) => text !== null && text !== "").join(" ");
  return `answered ${visibleLine(said)}${by ? ` (${visibleLine(by)})` : ""}`;
}

export function questionLines(ask: Ask, who: string, style: Style): string[] {
  const lines = visible(ask.question).split("\n");
  const [first = "", ...more] = lines;
  if (more.length === 0) return [style.yellow(`${who}asks: ${first}`)];
  return [style.yellow(`${who}asks:`), ...lines.map((line) => bar(line, style))];
}

function originLines({ origin = null }: Ask): [string, string][] {
  if (origin === null) return [];
  const { handle, agent, harness, parents, senders, requesters } = origin;
  const lines: [string, string][] = [["asker", visibleLine(`${handle}, agent ${agent} (${harness})`)]];
  if (parents.length > 0) {
    const chain = parents.map((parent) => `${parent.handle} (${parent.agent})`).join(", which works for ");
    lines.push(["works for", ` ${visibleLine(chain)}`]);
  }
  const from = [...senders.map(senderText), ...requesters.map((requester) => `requested by ${requester}`)];
  if (from.length > 0) lines.push(["on behalf", ` of ${visibleLine(from.join(", "))}`]);
  return lines;
}

function senderText(sender: Sender): string {
  switch (sender.kind) {
    case "human":
      return "you";
    case "agent":
      return `the session ${sender.handle}`;
    case "queue":
      return `the queue ${sender.name}, task ${sender.task}`;
    case "workflow":
      return `the workflow ${sender.name}, run ${sender.run}`;
    case "client":
      return `the program ${sender.name}`;
    case "channel":
      return `the channel ${sender.name}`;
    case "schedule":
      return `the schedule ${sender.name}`;
    case "webhook":
      return `the webhook ${sender.name}`;
    case "group":
      return `the group ${sender.group}, broadcast ${sender.broadcast}`;
    default:
      return sender.kind;
  }
}

function statusRow(ask: Ask, now: number): [string, string] {
  if (ask.status !== "open") {
    const when = ask.settled_at === null ? "" : `, ${relativeTime(ask.settled_at, now)}`;
    return ["ended", `${askEnd(ask)}${when}`];
  }
  const since = `asked ${relativeTime(ask.created_at, now)}`;
  return [
    "waits",
    ask.expires_at === null ? `${since}, until the turn ends` : `${since}, ${timeLeft(ask.expires_at, now)}`,
  ];
}

function timeLeft(at: number, now: number): string {
  return `${duration(Math.max(0, at - now))} left`;
}

function choiceLine({ options, tool, gate }: Ask): string {
  if (options.length === 0) return "any text";
  const meaning = gate ? `every ${tool} call for this reason` : `every ${tool} call`;
  return options
    .map((option) =>
      option === "always" && tool !== null ? `always (${visibleLine(meaning)}, in this session)` : visibleLine(option),
    )
    .join(", ");
}

function changeSummary(change: AskChange): string {
  const lines = diffLines(change);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return `${change.path} (+${count("+")} -${count("-")})`;
}

function diffLines({ before, after, patch }: AskChange): string[] {
  if (patch !== null) return patch.replace(/\n$/, "").split("\n");
  const lines = unifiedDiff(before, after);
  return lines.length === 0 ? ["(no line changes)"] : lines;
}

function paintDiff(line: string, style: Style): string {
  if (line.startsWith("+")) return style.green(line);
  if (line.startsWith("-")) return style.red(line);
  return line.startsWith("@@") ? style.dim(line) : line;
}

function block(value: unknown, style: Style): string[] {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return visible(text)
    .split("\n")
    .map((line) => bar(line, style));
}

function bar(line: string, style: Style): string {
  return `    ${style.dim("│")} ${line}`;
}

/** Omits exactly the values that the diff already showed. */
function without(value: unknown, shown: ReadonlySet<unknown>): unknown {
  if (typeof value === "string") return shown.has(value) ? undefined : value;
  if (Array.isArray(value)) {
    const kept = value.map((entry) => without(entry, shown)).filter((entry) => entry !== undefined);
    return kept.length === 0 ? undefined : kept;
  }
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value)
    .map(([key, entry]) => [key, without(entry, shown)] as const)
    .filter(([, entry]) => entry !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
