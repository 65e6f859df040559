/** Asks a yes-or-no question. */
import { createInterface } from "node:readline";
import type { CliContext } from "./context.ts";

/** Null if the user ends the input or the signal aborts before an answer. */
export async function askYesNo(
  cx: CliContext,
  question: string,
  preset: boolean,
  signal?: AbortSignal,
): Promise<boolean | null> {
  const input = createInterface({ input: cx.stdin, terminal: false, ...(signal === undefined ? {} : { signal }) });
  const lines = input[Symbol.asyncIterator]();
  try {
    while (true) {
      cx.write(`${question} [${preset ? "Y/n" : "y/N"}] `);
      const line = await lines.next();
      if (line.done === true) return null;
      const answer = line.value.trim().toLowerCase();
      if (answer === "") return preset;
      if (["y", "yes"].includes(answer)) return true;
      if (["n", "no"].includes(answer)) return false;
      cx.print("Please answer yes or no.");
    }
  } finally {
    input.close();
  }
}
