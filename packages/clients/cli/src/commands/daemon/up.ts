/** `aegis up`: starts the daemon; with `--attach` follows it in the foreground, as `npm start` does. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Status } from "@aegis/contract/api.ts";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import type { Connection } from "../../daemon/connection.ts";
import type { DaemonOptions } from "../../daemon/daemon-process.ts";
import { loadingWords, tellAttention } from "../../format/attention.ts";
import type { Handler } from "../../program/command.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { untilStopped } from "../../terminal/until-stopped.ts";
import { lossLines } from "../project/store.ts";
import type { daemonCommands } from "./spec.ts";

export const up: Handler<typeof daemonCommands.up> = async (cx, { attach, yes, ...options }) => {
  if (yes) await (await import("../plugin/trust.ts")).trustHere(cx);
  const connection = await cx.daemon(options);
  const { client, started } = connection;
  // Shows most plugins that cannot be loaded. Later ones appear in `aegis status` and `aegis plugin list`.
  await client.call("listPlugins", { signal: AbortSignal.timeout(pluginsMs) }).catch(() => {});
  const status = await client.call("status");
  const lines = announcement(cx, connection, status, options);
  if (!attach) {
    cx.show({ started, ...status }, lines);
    return tellAttention(cx, status);
  }
  if (cx.json) cx.printJson({ type: "aegis.up", started, status });
  else for (const line of lines) (cx.interactive ? cx.print : cx.warn)(line);
  // A chat reports this itself.
  if (!cx.interactive) tellAttention(cx, status);
  try {
    if (!cx.interactive) return await stream(cx, connection, status);
    if (cx.editable && options.agent === undefined)
      return await (await import("../session/app.ts")).runApp(cx, connection, null, { stopsDaemon: started });
    const { chatWith } = await import("../session/chat.ts");
    // A running daemon keeps its default agent, so the chat uses the agent given here.
    return await chatWith(cx, connection, { session: undefined, agent: options.agent });
  } finally {
    if (started) await stopOwn(cx, connection);
  }
};

/** How long `up` waits for plugins that are being loaded. */
const pluginsMs = 1_000;
const offlineNote = "This is the offline agent: it follows a script and uses no model.";
const installOne = "Install Claude Code, Codex, Gemini CLI or OpenCode, or set a model key, then start again.";
const nameAnother = "aegis doctor lists what else can run here; aegis config agent add declares it.";

function announcement(
  { style }: Terminal,
  { started, daemon }: Connection,
  status: Status,
  options: DaemonOptions,
): string[] {
  const agent = options.agent ?? status.default_agent;
  const isDefault = agent === status.default_agent;
  const more = existsSync(join(status.project, configFileName)) ? nameAnother : installOne;
  return [
    `${style.bold("aegis")} ${status.version}  ${status.project}`,
    `${started ? "Started" : "Already running"}: ${status.url} (pid ${daemon.pid})`,
    isDefault
      ? `Agent: ${style.cyan(agent)}, because ${status.agent_choice}.`
      : `Agent: ${style.cyan(agent)} was requested; the running daemon's default is still ${status.default_agent}.`,
    ...(isDefault && status.offline ? [style.yellow(offlineNote), style.yellow(more)] : []),
    ...lossLines(status.store.losses).map(style.red),
    ...(status.plugins_loading > 0 ? [`${loadingWords(status)} See: aegis plugin list`] : []),
    ...status.missing_gates.flatMap(({ plugin, reason }) => [
      style.red(`Gates of ${plugin} are missing, so the actions they guard are refused: ${reason}`),
      `Decide with: aegis plugin accept ${plugin}, or aegis plugin drop ${plugin}`,
    ]),
    ...status.config_problems.map((problem) => style.yellow(`Problem: ${problem}`)),
  ];
}

async function stream(cx: Terminal, connection: Connection, { last_seq: after }: Status): Promise<void> {
  const { followLines } = await import("../session/history.ts");
  if (!cx.json) cx.warn("Events follow. Press Ctrl-C to exit.");
  await untilStopped(cx, (signal) => followLines(cx, connection, { session: undefined, after, signal }));
}

async function stopOwn(cx: Terminal, connection: Connection): Promise<void> {
  const { stopDaemon } = await import("./down.ts");
  cx.warn("This command started the daemon, so it stops it: running turns end first; Ctrl-C interrupts them.");
  // Lets turns finish; a second Ctrl-C interrupts them, and they continue at the next start.
  const undo = cx.onStop(() => {
    void connection.client.call("shutdown", { body: { force: true } }).catch(() => {});
  });
  try {
    await stopDaemon(connection, { force: false, kill: true, timeoutMs: undefined });
    cx.warn("Stopped. Sessions and messages are kept; interrupted turns continue at the next start.");
  } finally {
    undo();
  }
}
