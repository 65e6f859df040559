/** Answers to what agents ask. */
import type { Client } from "../client/client.ts";
import type { Ask } from "../contract/ask.ts";
import { usageError } from "./failure.ts";

/** Text that is one of the options chooses it, also with a reason behind it; other text answers a question that takes any. */
export async function answerAsk(client: Client, ask: Ask, text: string): Promise<Ask> {
  const choice =
    ask.options.find((option) => option === text) ?? ask.options.find((option) => text.startsWith(`${option} `));
  if (choice === undefined && ask.options.length > 0) {
    throw usageError(`"${text}" is not one of the choices`, `choices: ${ask.options.join(", ")}`);
  }
  const { ask: settled } = await client.call("answerAsk", {
    path: { ask: ask.id },
    // The digest ties the answer to the action that was shown, not to whatever is asked by then.
    body: { choice: choice ?? null, text: text.slice(choice?.length ?? 0).trim(), digest: ask.digest },
  });
  return settled;
}

export function choicesOf(ask: Ask): string {
  return ask.options.length === 0 ? "(any text)" : ask.options.join("|");
}
