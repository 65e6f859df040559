/** Text for an agent: from the command line, or from standard input. */
import { buffer } from "node:stream/consumers";
import { usageError } from "../program/failure.ts";
import type { Terminal } from "./terminal.ts";

/** `-`, or no text while stdin is a pipe, reads standard input. */
export async function textArgument(
  cx: Terminal,
  given: string | undefined,
  what: string,
  hint = "give it as an argument, or pipe it in",
): Promise<string> {
  if (given === undefined && cx.stdinIsTerminal) throw usageError(`the ${what} is missing`, hint);
  const text = given === undefined || given === "-" ? decode(await buffer(cx.stdin), what) : given;
  if (text.trim() === "") throw usageError(`the ${what} is empty`, hint);
  return text;
}

function decode(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usageError(`the ${what} is not UTF-8 text`, "convert it first, or name a file the agent can read itself");
  }
}
