/** Starts a project's daemon and waits until it answers, or says why it does not. */
import { open } from "node:fs/promises";
import { createClient } from "../client/client.ts";
import { systemClock } from "../lib/clock.ts";
import { daemonExit } from "../lib/daemon-exit.ts";
import { type DaemonFile, daemonLogPath, inspectDaemonFile } from "../lib/daemon-file.ts";
import { type CliContext, exitCodes } from "./context.ts";
import {
  type BackgroundDaemon,
  type DaemonOptions,
  defaultDaemonOptions,
  startBackgroundDaemon,
} from "./daemon-process.ts";
import { CliError, describeError } from "./failure.ts";
import { logProblem } from "./format/log-line.ts";

const deadlineMs = 30_000;
const pollMs = 20;
/** A start that takes longer than this is worth a word. */
const quietMs = 400;
/** How long to look for the daemon that has the project, before it is taken for one that is just stopping. */
const retryMs = 500;

/** `own` tells whether it is the process that this call started: another command may have been quicker. */
export async function startDaemon(
  cx: CliContext,
  root: string,
  options: DaemonOptions = defaultDaemonOptions,
): Promise<{ file: DaemonFile; own: boolean }> {
  const begun = systemClock.now();
  let told = false;
  let child = await launch(root, cx.env, options);
  const { logOffset } = child;
  let takenSince: number | null = null;
  while (true) {
    const found = await inspectDaemonFile(root);
    if (found.state === "live" && (await answers(found.file))) {
      return { file: found.file, own: found.file.pid === child.pid };
    }
    const now = systemClock.now();
    if (now - begun > deadlineMs)
      throw await failure(root, logOffset, exitCodes.noDaemon, `did not answer within ${deadlineMs / 1000} s`);
    if (failed(child)) {
      const code = child.exit()?.code;
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

async function answers({ url, token }: DaemonFile): Promise<boolean> {
  try {
    await createClient({ url, token }).call("health", { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}

/** What this start left in the log says more than an exit code. */
async function failure(root: string, logOffset: number, exitCode: number, what: string): Promise<CliError> {
  const path = daemonLogPath(root);
  const problems = (await linesFrom(path, logOffset)).map(logProblem).filter((line) => line !== null);
  // Its last words are told whole: a configuration may have any number of problems.
  const lastWords = problems.findLastIndex((line) => line.startsWith(lastWordsMark));
  const told = lastWords === -1 ? problems.slice(-8) : problems.slice(lastWords);
  const lines = [`the daemon ${what}`, ...told.map((line) => `  ${line.replace(lastWordsMark, "")}`)];
  return new CliError(exitCode, lines.join("\n"), { hint: `the whole log: ${path}` });
}

/** How the daemon begins to say why it ends. */
const lastWordsMark = "aegis: ";

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
