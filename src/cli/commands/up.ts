/** `aegis up`: brings the daemon up; with `--attach` stays with it, as `npm start` does. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Status } from "../../contract/api.ts";
import { configFileName } from "../../lib/daemon-file.ts";
import { type Connection, ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import type { DaemonOptions } from "../daemon-process.ts";
import { createStyle } from "../format/style.ts";
import type { Terminal } from "../terminal.ts";

export type UpArgs = { attach: boolean; yes: boolean } & DaemonOptions;

export async function up(cx: Terminal, args: UpArgs): Promise<number> {
  const { attach, yes, ...options } = args;
  if (yes) await (await import("./trust.ts")).trustHere(cx);
  const connection = await ensureDaemon(cx, options);
  const status = await connection.client.call("status");
  if (!attach) {
    if (cx.json) cx.printJson({ started: connection.started, ...status });
    else announce(cx, connection, status, options, cx.print);
    return exitCodes.ok;
  }
  if (cx.json) cx.printJson({ type: "aegis.up", started: connection.started, status });
  else announce(cx, connection, status, options, cx.interactive ? cx.print : cx.warn);
  try {
    if (cx.interactive) {
      const { chatWith } = await import("./chat.ts");
      // A running daemon keeps its default; the agent asked for here is the one to talk to.
      return await chatWith(cx, connection, { session: undefined, agent: options.agent });
    }
    return await stream(cx, connection, status);
  } finally {
    if (connection.started) await stopOwn(cx, connection);
  }
}

const installOne = "Install Claude Code, Codex, Gemini CLI or OpenCode, or set a model key, and start again.";
const nameAnother = "aegis doctor lists what else can run here; aegis config agent add declares it.";

function announce(
  cx: Terminal,
  { started, daemon }: Connection,
  status: Status,
  options: DaemonOptions,
  print: (line: string) => void,
): void {
  const style = createStyle(cx.color);
  print(`${style.bold("aegis")} ${status.version}  ${status.project}`);
  print(`${started ? "Started" : "Already running"}: ${status.url} (pid ${daemon.pid})`);
  const agent = options.agent ?? status.default_agent;
  if (agent === status.default_agent) {
    print(`Agent: ${style.cyan(agent)}, because ${status.agent_choice}.`);
    if (status.offline) {
      print(style.yellow("It is the offline agent: it follows a script and no model answers."));
      print(style.yellow(existsSync(join(status.project, configFileName)) ? nameAnother : installOne));
    }
  } else {
    print(`Agent: ${style.cyan(agent)} was asked for; the running daemon's default stays ${status.default_agent}.`);
  }
  for (const one of status.untrusted) print(style.yellow(`Not trusted: ${one}`));
  if (status.untrusted.length > 0) print("It has no effect until you agree to it: aegis trust");
  for (const problem of status.config_problems) print(style.yellow(`Problem: ${problem}`));
}

async function stream(cx: Terminal, connection: Connection, status: Status): Promise<number> {
  const { followLines } = await import("./history.ts");
  const stopped = new AbortController();
  const undo = cx.onStop(() => stopped.abort());
  if (!cx.json) cx.warn("Events follow. Ctrl-C leaves.");
  try {
    await followLines(cx, connection, { session: undefined, after: status.last_seq, signal: stopped.signal });
    return exitCodes.ok;
  } finally {
    undo();
  }
}

async function stopOwn(cx: Terminal, connection: Connection): Promise<void> {
  const { stopDaemon } = await import("./down.ts");
  cx.warn("Stopping the daemon, because this command started it …");
  // Turns may finish; a second Ctrl-C cuts them. What is cut goes on at the next start.
  const undo = cx.onStop(() => {
    void connection.client.call("shutdown", { body: { force: true } }).catch(() => {});
  });
  try {
    await stopDaemon(connection, { force: false, kill: true, timeoutMs: undefined });
    cx.warn("Stopped. Sessions and messages are kept for the next start.");
  } finally {
    undo();
  }
}
