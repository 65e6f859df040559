/** A question with yes and no. Only a person at a terminal is asked. */
import { createInterface } from "node:readline";
import type { CliContext } from "./context.ts";

/** No is what an empty line, the end of the input and anything but yes mean. */
export async function confirm(cx: CliContext, question: string): Promise<boolean> {
  const input = createInterface({ input: cx.stdin, terminal: false });
  try {
    cx.write(`${question} [y/N] `);
    for await (const line of input) return /^\s*y(?:es)?\s*$/i.test(line);
    return false;
  } finally {
    input.close();
  }
}
