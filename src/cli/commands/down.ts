/** `aegis down`: stops the daemon and does not return before it is gone. */
import { isAegisError } from "../../contract/errors.ts";
import { systemClock } from "../../lib/clock.ts";
import { isSameProcess, removeDaemonFile } from "../../lib/daemon-file.ts";
import { type Connection, findDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { CliError } from "../failure.ts";
import type { Terminal } from "../terminal.ts";

export type DownArgs = { force: boolean; timeoutMs: number | undefined };

const defaultTimeoutMs = 30_000;

export async function down(cx: Terminal, args: DownArgs): Promise<number> {
  const connection = await findDaemon(cx);
  if (connection === null) {
    if (cx.json) cx.printJson({ stopped: false, pid: null });
    else cx.print("No daemon runs here.");
    return exitCodes.ok;
  }
  const how = await stopDaemon(connection, { ...args, kill: args.force });
  const { pid } = connection.daemon;
  if (cx.json) cx.printJson({ stopped: true, pid, killed: how === "killed" });
  else cx.print(how === "killed" ? `killed the daemon (pid ${pid})` : `stopped the daemon (pid ${pid})`);
  return exitCodes.ok;
}

/** `force` cuts turns at once; `kill` ends a daemon that does not stop. */
export type StopOptions = DownArgs & { kill: boolean };

/** Asks, waits, and kills in the end if told to. Throws when the daemon is still there after the time. */
export async function stopDaemon(connection: Connection, args: StopOptions): Promise<"stopped" | "killed"> {
  const { client, daemon, root } = connection;
  const timeoutMs = args.timeoutMs ?? defaultTimeoutMs;
  const asked = await ask(client, args.force);
  if (asked && (await ended(connection, timeoutMs))) return "stopped";
  if (!args.kill) {
    const reason = asked ? `did not stop within ${Math.round(timeoutMs / 1000)} s` : "does not answer";
    throw new CliError(exitCodes.failed, `the daemon (pid ${daemon.pid}) ${reason}`, {
      hint: "aegis down --force cuts what it is doing and kills it if it must",
    });
  }
  const { signalProcess } = await import("../daemon-process.ts");
  // The pid is looked at again right before: it may belong to someone else by now.
  if (isSameProcess(daemon)) signalProcess(daemon.pid, "SIGKILL");
  if (!(await ended(connection, 5_000)))
    throw new CliError(exitCodes.failed, `the daemon (pid ${daemon.pid}) is still there after SIGKILL`);
  await removeDaemonFile(root, daemon.id);
  return "killed";
}

async function ask(client: Connection["client"], force: boolean): Promise<boolean> {
  try {
    await client.call("shutdown", { body: { force }, signal: AbortSignal.timeout(5_000) });
    return true;
  } catch (error) {
    if (isAegisError(error) && error.code !== "unavailable" && error.code !== "timeout") throw error;
    return false;
  }
}

async function ended({ daemon }: Connection, timeoutMs: number): Promise<boolean> {
  const deadline = systemClock.now() + timeoutMs;
  while (isSameProcess(daemon)) {
    if (systemClock.now() > deadline) return false;
    await systemClock.sleep(25);
  }
  return true;
}
