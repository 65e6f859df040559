/** Every open ask of every session, longest wait first. */

import type { Board, Card } from "@aegis/client/model/board.ts";
import { textField } from "@aegis/client/views/tool-words.ts";
import type { Ask } from "@aegis/contract/ask.ts";

export type OpenAsk = { readonly ask: Ask; readonly session: Card };

export function needsYou(board: Board): OpenAsk[] {
  return board.asks
    .flatMap((ask) => {
      const session = board.cards[ask.session];
      return session === undefined ? [] : [{ ask, session }];
    })
    .sort((a, b) => a.ask.created_at - b.ask.created_at);
}

/** The action in one line: what would really run, not how the agent describes it. */
export function askAction(ask: Ask): string {
  if (ask.tool === null) return ask.question;
  const command = textField(ask.detail, "command");
  if (command !== null) return command;
  const [change] = ask.changes;
  if (change !== undefined) {
    const more = ask.changes.length - 1;
    return more === 0 ? change.path : `${change.path} and ${more} more`;
  }
  return ask.question;
}
