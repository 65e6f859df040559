/** Asks yes-or-no questions, or for a typed word. Asks only a person at a terminal. */
import { createInterface } from "node:readline";
import type { CliContext } from "./context.ts";

/** The typed text, trimmed; empty at the end of the input. */
export async function typed(cx: CliContext, question: string): Promise<string> {
  const input = createInterface({ input: cx.stdin, terminal: false });
  try {
    cx.write(`${question} `);
    for await (const line of input) return line.trim();
    return "";
  } finally {
    input.close();
  }
}

/** An empty line, the end of the input, and anything but yes mean no. */
export async function confirm(cx: CliContext, question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test(await typed(cx, `${question} [y/N]`));
}
