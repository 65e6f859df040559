/** Runs a check and binds its result to the tree of files on which it ran. */
import { isAegisError } from "@aegis/contract/errors.ts";
import type { CheckReceipt } from "@aegis/contract/receipt.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import { type CheckCommand, type CheckHost, type Ran, runCommand } from "./command.ts";
import { testCounts } from "./counts.ts";

/** The present files of a folder: `problem` says why they have no tree. */
type FileState = { tree: string; head: string | null } | { tree: null; head: null; problem: string };

export interface FileStates {
  now(folder: string): Promise<FileState>;
  /** The files that differ between two trees. */
  changed(folder: string, from: string, to: string): Promise<string[]>;
}

export type MeasureOptions = CheckHost & { files: FileStates; redact: Redact };

export type MeasuredCheck = Pick<
  CheckReceipt,
  "status" | "exit" | "duration_ms" | "tree" | "head" | "tail" | "counts" | "changed" | "problem"
>;

const tailLength = 8_000;
const mostPaths = 50;

/** `files` may know the state of a folder that only this caller uses. Throws only if the signal aborts. */
export async function measure(
  command: CheckCommand,
  consent: () => Promise<Consent>,
  options: MeasureOptions,
): Promise<MeasuredCheck> {
  const { files } = options;
  try {
    let before = await files.now(command.cwd);
    let ran = await runCommand(command, options, consent);
    let after = await files.now(command.cwd);
    // The result belongs to neither tree. A check that writes the same files each time leaves the next one alone.
    if (ran.exit === 0 && before.tree !== after.tree) {
      before = after;
      ran = await runCommand(command, options, consent);
      after = await files.now(command.cwd);
    }
    return await result(ran, before, after, command, options);
  } catch (error) {
    command.signal.throwIfAborted();
    return {
      status: "refused",
      exit: null,
      duration_ms: null,
      tree: null,
      head: null,
      tail: "",
      counts: null,
      changed: [],
      problem: notRun(error),
    };
  }
}

async function result(
  ran: Ran,
  before: FileState,
  after: FileState,
  { cwd, timeoutMs }: CheckCommand,
  { files, redact }: MeasureOptions,
): Promise<MeasuredCheck> {
  const { exit, timedOut, duration_ms } = ran;
  const output = redact(ran.output);
  const isBound = before.tree === after.tree;
  const isListed = before.tree !== null && after.tree !== null;
  const changed = isBound ? [] : isListed ? await files.changed(cwd, before.tree, after.tree) : ["."];
  const problems = [
    ...(timedOut ? [`it took longer than ${timeoutMs / 1000} s`] : []),
    ...(before.tree === null ? [before.problem] : []),
    ...(isBound || before.tree === null ? [] : [`files changed while it ran: ${listed(changed)}`]),
  ];
  return {
    status: exit === 0 ? "passed" : "failed",
    exit,
    duration_ms: Math.round(duration_ms),
    tree: isBound ? before.tree : null,
    head: before.head,
    tail: output.slice(-tailLength).toWellFormed(),
    counts: testCounts(output),
    changed: changed.slice(0, mostPaths),
    problem: problems.length === 0 ? null : problems.join("; "),
  };
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, 5).join(", ");
  return paths.length <= 5 ? shown : `${shown} and ${paths.length - 5} more`;
}

/** Why a check has no result. */
export function notRun(error: unknown): string {
  const hint = isAegisError(error) && error.hint !== undefined ? ` (${error.hint})` : "";
  return `it was not run: ${errorText(error)}${hint}`;
}
