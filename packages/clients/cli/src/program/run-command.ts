/** Runs a command and converts anything it throws into a message and an exit code. */
import { statSync } from "node:fs";
import { exitCodes } from "../terminal/context.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { Exit } from "./command.ts";
import { describeError, errorBody, exitCodeOf, usageError } from "./failure.ts";

export async function runCommand(cx: Terminal, run: (cx: Terminal) => Exit): Promise<number> {
  try {
    if (!statSync(cx.cwd, { throwIfNoEntry: false })?.isDirectory()) throw usageError(`${cx.cwd} is not a folder`);
    const code = await run(cx);
    return typeof code === "number" ? code : exitCodes.ok;
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
