/** Asks a person for consent before a command makes changes. */
import { CliError } from "../program/failure.ts";
import { askYesNo } from "./ask-yes-no.ts";
import { type CliContext, exitCodes } from "./context.ts";

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
