/** Runs a command and turns whatever it throws into words and an exit code. */
import { statSync } from "node:fs";
import { describeError, errorBody, exitCodeOf, usageError } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

export async function runCommand(cx: Terminal, run: (cx: Terminal) => Promise<number>): Promise<number> {
  try {
    if (!statSync(cx.cwd, { throwIfNoEntry: false })?.isDirectory()) throw usageError(`${cx.cwd} is not a folder`);
    return await run(cx);
  } catch (error) {
    return report(cx, error);
  }
}

export function report(cx: Terminal, error: unknown): number {
  const { message, hint } = describeError(error);
  if (cx.json) cx.printJson(errorBody(error));
  cx.warn(`aegis: ${message}`);
  if (hint !== undefined) cx.warn(`  ${hint}`);
  return exitCodeOf(error);
}
