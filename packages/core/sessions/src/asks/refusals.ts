/** Why an answer is refused. */
import type { Ask, AskAnswer } from "@aegis/contract/ask.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";

export function settledBefore({ id, status, answer, settled_by, settled_reason }: Ask): AegisError {
  const how =
    status === "answered"
      ? `${answer?.choice ?? "in words"}${settled_by === null ? "" : ` (${settled_by})`}`
      : settled_reason;
  return new AegisError("conflict", `ask ${id} is ${status} already${how === null ? "" : `: ${how}`}`, {
    hint: "this answer had no effect",
  });
}

export function checkChoice(ask: Ask, answer: AskAnswer): void {
  if (ask.options.length === 0 || (answer.choice !== null && ask.options.includes(answer.choice))) return;
  const given = answer.choice ?? answer.text;
  throw new AegisError("invalid", `"${given}" is not an answer to ask ${ask.id}${didYouMean(given, ask.options)}`, {
    hint: `answers: ${ask.options.join(", ")}`,
  });
}
