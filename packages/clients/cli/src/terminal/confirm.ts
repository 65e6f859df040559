/** Asks a person at a terminal: for a typed word, a yes or no, or consent before a command makes changes. */
import { createInterface } from "node:readline";
import { CliError } from "../program/failure.ts";
import { type CliContext, exitCodes } from "./context.ts";

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

type Consent = {
  /** `--yes` was given. */
  yes: boolean;
  question: string;
  /** What the error says if consent is not given, as in "nothing was trusted". */
  otherwise: string;
  hint?: string;
};

/** Throws unless `--yes` was given or a person at the terminal agrees. */
export async function askConsent(cx: CliContext, consent: Consent): Promise<void> {
  const { yes, question, otherwise, hint = "agree with --yes" } = consent;
  if (yes) return;
  if (!cx.interactive) throw new CliError(exitCodes.failed, `${otherwise}: consent needs a terminal`, { hint });
  if ((await askYesNo(cx, question, false)) !== true) throw new CliError(exitCodes.failed, otherwise);
}
