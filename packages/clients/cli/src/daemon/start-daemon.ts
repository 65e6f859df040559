/** Starts a project's daemon and waits until it answers, or reports why it does not. */
import { open } from "node:fs/promises";
import { daemonClient } from "@aegis/client/project/http-fetch.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { type DaemonFile, daemonExit, daemonLogPath, inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { logProblem, waitingFor } from "../format/log-line.ts";
import { CliError, describeError } from "../program/failure.ts";
import { type CliContext, exitCodes } from "../terminal/context.ts";
import {
  type BackgroundDaemon,
  type DaemonOptions,
  defaultDaemonOptions,
  startBackgroundDaemon,
} from "./daemon-process.ts";

const deadlineMs = 30_000;
const pollMs = 20;
/** A start that takes longer than this is reported. */
const quietMs = 400;
/** A start that takes longer than this may be waiting for a database server. */
const waitingMs = 2_000;
/** How long to look for the daemon that holds the project before assuming that it is stopping. */
const retryMs = 500;

/** `own` says whether this call started the process: another command may have been faster. */
export async function startDaemon(
  cx: CliContext,
  root: string,
  options: DaemonOptions = defaultDaemonOptions,
): Promise<{ file: DaemonFile; own: boolean }> {
  let begun = systemClock.now();
  let told = false;
  let toldReason = false;
  let child = await launch(root, cx.env, options);
  const { logOffset } = child;
  let takenSince: number | null = null;
  while (true) {
    const found = await inspectDaemonFile(root, homeOf(cx.env));
    if (found.state === "live" && (await answers(found.file))) {
      return { file: found.file, own: found.file.pid === child.pid };
    }
    const now = systemClock.now();
    if (now - begun > deadlineMs)
      throw await failure(root, logOffset, exitCodes.noDaemon, `did not answer within ${deadlineMs / 1000} s`);
    if (failed(child)) {
      const code = child.exit()?.code;
      if (code === daemonExit.stateUnknown) {
        await (await import("../commands/project/state.ts")).decideState(cx, root);
        begun = systemClock.now();
        child = await launch(root, cx.env, options);
        continue;
      }
      const refused = code === daemonExit.invalid;
      throw refused
        ? await failure(root, logOffset, exitCodes.usage, "could not start")
        : await failure(root, logOffset, exitCodes.noDaemon, `could not start (exit code ${code})`);
    }
    if (child.exit() !== null) takenSince ??= now;
    if (takenSince !== null && now - takenSince > retryMs) {
      takenSince = null;
      child = await launch(root, cx.env, options);
    }
    if (!told && now - begun > quietMs && cx.interactive) {
      told = true;
      cx.warn("starting the daemon …");
    }
    if (!toldReason && now - begun > waitingMs) {
      const reason = (await linesFrom(daemonLogPath(root), logOffset)).map(waitingFor).find((line) => line !== null);
      toldReason = reason !== undefined;
      if (reason !== undefined) cx.warn(reason);
    }
    await systemClock.sleep(pollMs);
  }
}

async function launch(root: string, env: CliContext["env"], options: DaemonOptions): Promise<BackgroundDaemon> {
  try {
    return await startBackgroundDaemon(root, env, options);
  } catch (error) {
    const { message, hint } = describeError(error);
    const more = { cause: error, ...(hint === undefined ? {} : { hint }) };
    throw new CliError(exitCodes.noDaemon, `the daemon could not start: ${message}`, more);
  }
}

function failed(child: BackgroundDaemon): boolean {
  const exit = child.exit();
  return exit !== null && exit.code !== daemonExit.projectTaken;
}

async function answers(daemon: DaemonFile): Promise<boolean> {
  try {
    await daemonClient(daemon).call("health", { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}

/** The log lines of this start explain more than an exit code. */
async function failure(root: string, logOffset: number, exitCode: number, what: string): Promise<CliError> {
  const path = daemonLogPath(root);
  const problems = (await linesFrom(path, logOffset)).map(logProblem).filter((line) => line !== null);
  // Print the daemon's final message in full: a configuration may have any number of problems.
  const lastText = problems.findLastIndex((line) => line.startsWith(lastWordsMark));
  const told = lastText === -1 ? problems.slice(-8) : problems.slice(lastText);
  const lines = [`the daemon ${what}`, ...told.map((line) => `  ${withoutMark(line)}`)];
  return new CliError(exitCode, lines.join("\n"), { hint: `the full log: ${path}` });
}

/** The prefix of the message in which the daemon explains why it exits. */
const lastWordsMark = "aegis: ";

function withoutMark(line: string): string {
  return line.startsWith(lastWordsMark) ? line.slice(lastWordsMark.length) : line;
}

const mostBytes = 256 * 1024;

async function linesFrom(path: string, offset: number): Promise<string[]> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return [];
  try {
    const { size } = await file.stat();
    const length = Math.min(Math.max(0, size - offset), mostBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString("utf8", 0, bytesRead).split("\n");
  } finally {
    await file.close();
  }
}
