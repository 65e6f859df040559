/** Answers from paired people to asks: by a choice that was shown with the ask, or by a reply with text. */
import type { Ask } from "@aegis/contract/ask.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { AskId } from "@aegis/contract/ids.ts";
import type { Asks } from "@aegis/sessions/asks/asks.ts";
import { isAbout, readChoice } from "./cards.ts";

/** The outcome in words for the person. Never throws for an ask that is settled or unknown. */
export async function answerByChoice(asks: Asks, data: string, by: string): Promise<string> {
  const choice = readChoice(data);
  if (choice === null) return "This button is not valid.";
  return settled(async () => {
    const ask = await asks.get(choice.ask);
    const option = ask.options[choice.option];
    if (!isAbout(ask, choice.digest) || option === undefined) return "This ask is about something else now.";
    if (isSame(ask, option, by)) return `Answered: ${option}`;
    await asks.answer(ask.id, { choice: option, text: "" }, ask.digest, by);
    return `Answered: ${option}`;
  });
}

export async function answerByText(asks: Asks, id: AskId, text: string, by: string): Promise<string> {
  return settled(async () => {
    const ask = await asks.get(id);
    const option = ask.options.find((one) => one.toLowerCase() === text.trim().toLowerCase());
    if (ask.options.length > 0 && option === undefined) return `Reply with one of: ${ask.options.join(", ")}`;
    const answer = option === undefined ? { choice: null, text } : { choice: option, text: "" };
    await asks.answer(ask.id, answer, ask.digest, by);
    return option === undefined ? "Answered." : `Answered: ${option}`;
  });
}

/** True if this very answer was given before a crash. */
function isSame(ask: Ask, option: string, by: string): boolean {
  return ask.status === "answered" && ask.settled_by === by && ask.answer?.choice === option;
}

async function settled(answer: () => Promise<string>): Promise<string> {
  try {
    return await answer();
  } catch (error) {
    if (isAegisError(error)) return error.message;
    throw error;
  }
}
