/**
 * `aegis status`, and `aegis` without arguments: shows what is running here and what to do next. Loads no schemas, to
 * be fast.
 */
import { existsSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import type { Status } from "@aegis/contract/api.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import { headline } from "@aegis/contract/headline.ts";
import type { OpenNeed } from "@aegis/contract/need.ts";
import { configFileName, findProjectRoot, inspectDaemonFile, stateDir } from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { findDaemon } from "../../daemon/connection.ts";
import { attentionLine, loadingWords } from "../../format/attention.ts";
import { channelWords } from "../../format/channel-state.ts";
import { databaseWords } from "../../format/database.ts";
import type { Style } from "../../format/style.ts";
import { bytes, oneLine, plural } from "../../format/text.ts";
import { relativeTime } from "../../format/time.ts";
import { usageWords } from "../../format/usage.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { lossLines } from "../project/store.ts";

/** Exits with 0 if a daemon answers, with `noDaemon` otherwise. */
export async function status(cx: Terminal): Promise<number> {
  const connection = await findDaemon(cx);
  if (connection === null) return notRunning(cx);
  try {
    const answer = await connection.client.call("status", { signal: AbortSignal.timeout(5_000) });
    cx.show({ running: true, ...answer }, () => statusLines(answer, cx, Date.now()));
    return exitCodes.ok;
  } catch (error) {
    if (isAegisError(error) && error.code === "unavailable") return notRunning(cx);
    throw error;
  }
}

/** `aegis` without arguments. */
export async function home(cx: Terminal): Promise<number> {
  const root = findProjectRoot(cx.cwd);
  const found = await inspectDaemonFile(root, homeOf(cx.env));
  if (found.state === "live") return status(cx);
  const configured = existsSync(join(root, configFileName));
  const { style } = cx;
  const intro = configured
    ? [`${style.bold("aegis")}  ${root}`, "No daemon runs here; the first command that needs one starts it."]
    : [
        `${style.bold("aegis")} runs a team of AI agents on your machine and lets them work together.`,
        "This folder has no configuration yet; it is optional.",
      ];
  const steps: (readonly [string, string])[] = [
    ...(configured ? [] : [["aegis init", "write a configuration for this folder"] as const]),
    ["aegis chat", "talk to an agent"],
    ['aegis run "<prompt>"', "print one answer and exit"],
    ["aegis demo", "watch a team work, offline, in under a minute"],
    ["aegis --help", "every command"],
  ];
  const lines = steps.map(([command, what]) => `  ${style.cyan(command.padEnd(22))}${what}`);
  cx.show({ running: false, project: root, configured }, [...intro, "", ...lines]);
  return exitCodes.ok;
}

async function notRunning(cx: Terminal): Promise<number> {
  const root = findProjectRoot(cx.cwd);
  const found = await inspectDaemonFile(root, homeOf(cx.env));
  const losses = existsSync(stateDir(root)) ? await knownLosses(cx, root) : [];
  cx.show({ running: false, project: root, daemon_file: found.state, store: { losses } }, () => {
    cx.print(`No daemon runs for ${root}.`);
    for (const line of lossLines(losses)) cx.print(cx.style.red(line));
    if (found.state === "stale") cx.print("The last one did not stop cleanly; everything it accepted is kept.");
    if (found.state === "foreign") cx.print(`${found.problem}; it is ignored.`);
    if (found.state === "live") cx.print("Its process is alive but does not answer: try aegis doctor.");
    cx.print("Start one with: aegis up");
  });
  return exitCodes.noDaemon;
}

/** The losses that a daemon would report. Returns none for a state that belongs to another user. */
async function knownLosses(cx: Terminal, root: string): Promise<Status["store"]["losses"]> {
  const { lossesWithoutDaemon } = await import("@aegis/project/state/losses.ts");
  return lossesWithoutDaemon(root, homeOf(cx.env)).catch(() => []);
}

function statusLines(answer: Status, cx: Pick<Terminal, "style">, now: number): string[] {
  const style = cx.style;
  const { sessions } = answer;
  const counts = [
    sessions.working > 0 ? style.green(`${sessions.working} working`) : "0 working",
    `${sessions.ready} ready`,
    ...(sessions.error > 0 ? [style.red(`${sessions.error} in error`)] : []),
    style.dim(`${sessions.closed} closed`),
  ];
  const agent = answer.offline
    ? `${answer.default_agent} ${style.yellow("(offline: no model answers)")}`
    : answer.default_agent;
  const rows: [string, string][] = [
    ["project", answer.project],
    [
      "daemon",
      `${answer.state}, pid ${answer.pid}, version ${answer.version}, started ${relativeTime(answer.started_at, now)}`,
    ],
    ["address", answer.url],
    ["agent", agent],
    ["", style.dim(answer.agent_choice)],
    ["sessions", counts.join(", ")],
    ...needsYouRows(answer, style, now),
    ["used", usageWords(answer.usage) ?? "-"],
    ["waiting", plural(answer.pending_messages, "message")],
    ["memory", bytes(answer.memory_bytes)],
    [
      "store",
      `${bytes(answer.store.bytes)} in ${isAbsolute(answer.store.path) ? basename(answer.store.path) : answer.store.path}${answer.store.writable ? "" : style.red(", not writable")}`,
    ],
    ...(answer.store.database == null ? [] : [["database", databaseWords(answer.store.database)] as [string, string]]),
  ];
  const lines = rows.map(([name, value]) => `${style.dim(name.padEnd(10))}${value}`);
  for (const one of answer.untrusted) lines.push(`${style.yellow("untrusted".padEnd(10))}${one}`);
  if (answer.plugins_loading > 0) lines.push(`${"plugins".padEnd(10)}${loadingWords(answer)}`);
  const attention = attentionLine(answer);
  if (attention !== null) lines.push(`${style.yellow("attention".padEnd(10))}${attention}`);
  for (const channel of answer.channels ?? []) {
    const { state, fix, waiting } = channel;
    const queued = waiting === 0 ? "" : ` (${plural(waiting, "delivery", "deliveries")} waiting)`;
    const paint = state === "ok" ? style.dim : style.yellow;
    const words = `${channelWords(channel, Date.now())}${queued}${fix === null ? "" : `; ${fix}`}`;
    lines.push(`${paint("channel".padEnd(10))}${words}`);
  }
  for (const { plugin, hooks, reason } of answer.missing_gates) {
    lines.push(`${style.red("gates".padEnd(10))}${plugin}: ${hooks.join(", ")}: ${reason}`);
    lines.push(
      `${"".padEnd(10)}the actions they guard are refused until you decide: aegis plugin accept|drop ${plugin}`,
    );
  }
  for (const line of lossLines(answer.store.losses)) lines.push(`${style.red("lost".padEnd(10))}${line}`);
  for (const problem of answer.config_problems) lines.push(`${style.yellow("problem".padEnd(10))}${problem}`);
  return lines;
}

/** Asks, failed work and work that is ready to land. An older daemon sends only the asks. */
function needsYouRows(answer: Status, style: Style, now: number): [string, string][] {
  const { needs = [] } = answer as Partial<Status>;
  const failed = needs.filter(({ kind }) => kind === "failed");
  const ready = needs.filter(({ kind }) => kind === "ready");
  const name = (need: OpenNeed) => `${oneLine(headline(need))} ${style.dim(`(${need.handle})`)}`;
  return [
    ...askRows(answer, style, now),
    ...failed.map((one): [string, string] => ["failed", style.red(`${name(one)}: ${oneLine(one.problem ?? "")}`)]),
    ...ready.map((one): [string, string] => ["ready", `${name(one)}: ${readyWords(one)}`]),
  ];
}

function readyWords({ handle, changes, check, target, problem }: OpenNeed): string {
  const size = changes === null ? "" : `${plural(changes.files, "file")} +${changes.added} -${changes.deleted}, `;
  const checked = check === null ? "unchecked" : `check ${check}`;
  const where = target === null ? `aegis land ${handle} --to <branch>` : `lands on ${target}: aegis land ${handle}`;
  const last = problem === null ? "" : ` (did not land: ${oneLine(problem)})`;
  return `${size}${checked}; ${where}${last}`;
}

function askRows({ needs_you }: Status, style: Style, now: number): [string, string][] {
  const [first] = needs_you;
  if (first === undefined) return [];
  const asks = needs_you.reduce((sum, one) => sum + one.asks, 0);
  const who = needs_you.map(({ handle }) => handle).join(", ");
  const since = `the first one asked ${relativeTime(first.since, now)}`;
  return [["needs you", style.yellow(`${plural(asks, "ask")} of ${who}, ${since}: aegis asks`)]];
}
