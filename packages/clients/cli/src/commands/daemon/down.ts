/** `aegis down`: stops the daemon and returns after its process has exited. */
import { isAegisError } from "@aegis/contract/errors.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { findProjectRoot, inspectDaemonFile, isSameProcess, removeDaemonFile } from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { leftProcesses } from "@aegis/lib/project-processes.ts";
import { type Connection, findDaemon } from "../../daemon/connection.ts";
import type { Args, Handler } from "../../program/command.ts";
import { CliError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import type { daemonCommands } from "./spec.ts";

const defaultTimeoutMs = 30_000;

export const down: Handler<typeof daemonCommands.down> = async (cx, args) => {
  const connection = await findDaemon(cx);
  if (connection === null) return cleanUp(cx, args.force);
  const how = await stopDaemon(connection, { ...args, kill: args.force });
  const { pid } = connection.daemon;
  cx.show({ stopped: true, pid, killed: how === "killed" }, `${how} the daemon (pid ${pid})`);
};

/** No daemon runs: reports processes that a killed daemon left behind and, with `force`, ends them. */
async function cleanUp(cx: Terminal, force: boolean): Promise<void> {
  const root = findProjectRoot(cx.cwd);
  const found = await inspectDaemonFile(root, homeOf(cx.env));
  if (found.state === "foreign") cx.warn(`${found.problem}; the process it names (${found.pid}) was left alone`);
  const { stateOwner, statePlace } = await import("@aegis/project/state/decide.ts");
  // A process list that came with a folder may name any process of the user.
  const isOurs = (await stateOwner(await statePlace(root, cx.env))).owner !== "unknown";
  const processes = leftProcesses(root);
  const left = isOurs ? await processes.leftovers({ daemonRuns: false }) : [];
  const ended = force && left.length > 0 ? await processes.endLeftovers({ daemonRuns: false }) : [];
  if (force && found.state === "stale") await removeDaemonFile(root, found.file.id);
  const told = { stopped: false, pid: null, left_behind: left.length, ended: ended.length };
  cx.show(told, "No daemon runs here.");
  for (const { pid, command } of left)
    cx.warn(`aegis: ${command} (pid ${pid}) was left behind${force ? " and was killed" : ""}`);
  if (!force && left.length > 0) cx.warn("  kill it with: aegis down --force");
}

/** `force` interrupts turns immediately; `kill` kills a daemon that does not stop. */
type StopOptions = Args<typeof daemonCommands.down> & { kill: boolean };

/**
 * Requests the stop, waits, and finally kills the daemon if `kill` is set. Throws if the daemon still runs after the
 * timeout.
 */
export async function stopDaemon(connection: Connection, args: StopOptions): Promise<"stopped" | "killed"> {
  const { client, daemon, root } = connection;
  const timeoutMs = args.timeoutMs ?? defaultTimeoutMs;
  const asked = await ask(client, args.force);
  if (asked && (await ended(connection, timeoutMs))) return "stopped";
  if (!args.kill) {
    const reason = asked ? `did not stop within ${Math.round(timeoutMs / 1000)} s` : "does not answer";
    throw new CliError(exitCodes.failed, `the daemon (pid ${daemon.pid}) ${reason}`, {
      hint: "aegis down --force interrupts its turns and kills it if necessary",
    });
  }
  const { signalProcess } = await import("../../daemon/daemon-process.ts");
  // Check the pid again right before the kill: the system may have reused it.
  if (isSameProcess(daemon)) signalProcess(daemon.pid, "SIGKILL");
  if (!(await ended(connection, 5_000)))
    throw new CliError(exitCodes.failed, `the daemon (pid ${daemon.pid}) is still alive after SIGKILL`);
  await removeDaemonFile(root, daemon.id);
  // A killed daemon does not end the processes that it started.
  await leftProcesses(root).sweep();
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
