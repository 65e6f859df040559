/** `aegis status`, and `aegis` alone: what runs here, and what to do next. Quick: no schemas are loaded. */
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { Status } from "../../contract/api.ts";
import { isAegisError } from "../../contract/errors.ts";
import { configFileName, findProjectRoot, inspectDaemonFile } from "../../lib/daemon-file.ts";
import { findDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { createStyle } from "../format/style.ts";
import { bytes, plural } from "../format/text.ts";
import { relativeTime } from "../format/time.ts";
import { quickFetch } from "../quick-fetch.ts";
import type { Terminal } from "../terminal.ts";

/** Exit code 0 when a daemon answers, `noDaemon` when none does. */
export async function status(cx: Terminal): Promise<number> {
  const connection = await findDaemon(cx, quickFetch);
  if (connection === null) return notRunning(cx);
  try {
    const answer = await connection.client.call("status", { signal: AbortSignal.timeout(5_000) });
    if (cx.json) cx.printJson({ running: true, ...answer });
    else for (const line of statusLines(answer, cx, Date.now())) cx.print(line);
    return exitCodes.ok;
  } catch (error) {
    if (isAegisError(error) && error.code === "unavailable") return notRunning(cx);
    throw error;
  }
}

/** `aegis` alone. */
export async function home(cx: Terminal): Promise<number> {
  const root = findProjectRoot(cx.cwd);
  const found = await inspectDaemonFile(root);
  if (found.state === "live") return status(cx);
  const configured = existsSync(join(root, configFileName));
  if (cx.json) {
    cx.printJson({ running: false, project: root, configured });
    return exitCodes.ok;
  }
  const style = createStyle(cx.color);
  if (configured) {
    cx.print(`${style.bold("aegis")}  ${root}`);
    cx.print("No daemon runs here; the first command that needs one starts it.");
  } else {
    cx.print(`${style.bold("aegis")} runs a team of AI agents on your machine and lets them work together.`);
    cx.print("This folder is not set up, and does not have to be.");
  }
  cx.print("");
  const steps: [string, string][] = [
    ...(configured ? [] : [["aegis init", "write a configuration for this folder"] satisfies [string, string]]),
    ["aegis chat", "talk to an agent"],
    ['aegis run "<prompt>"', "one answer, then done"],
    ["aegis demo", "watch a team work, offline, in under a minute"],
    ["aegis --help", "every command"],
  ];
  for (const [command, what] of steps) cx.print(`  ${style.cyan(command.padEnd(22))}${what}`);
  return exitCodes.ok;
}

async function notRunning(cx: Terminal): Promise<number> {
  const root = findProjectRoot(cx.cwd);
  const found = await inspectDaemonFile(root);
  if (cx.json) cx.printJson({ running: false, project: root, daemon_file: found.state });
  else {
    cx.print(`No daemon runs for ${root}.`);
    if (found.state === "stale") cx.print("The last one did not stop cleanly; nothing that it accepted is lost.");
    if (found.state === "live") cx.print("Its process is alive but does not answer: try aegis doctor.");
    cx.print("Start one with: aegis up");
  }
  return exitCodes.noDaemon;
}

export function statusLines(answer: Status, cx: { color: boolean }, now: number): string[] {
  const style = createStyle(cx.color);
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
    ["waiting", plural(answer.pending_messages, "message")],
    ["memory", bytes(answer.memory_bytes)],
    [
      "store",
      `${bytes(answer.store.bytes)} in ${basename(answer.store.path)}${answer.store.writable ? "" : style.red(", not writable")}`,
    ],
  ];
  const lines = rows.map(([name, value]) => `${style.dim(name.padEnd(10))}${value}`);
  for (const one of answer.untrusted) lines.push(`${style.yellow("untrusted".padEnd(10))}${one}`);
  if (answer.untrusted.length > 0) lines.push(`${"".padEnd(10)}it has no effect until you agree to it: aegis trust`);
  for (const problem of answer.config_problems) lines.push(`${style.yellow("problem".padEnd(10))}${problem}`);
  return lines;
}
