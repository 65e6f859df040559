/** What waits for a person: every open ask, longest wait first, then failed work and work that is ready to land. */

import type { Board, Card } from "@aegis/client/model/board.ts";
import { textField } from "@aegis/client/views/tool-words.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import type { OpenNeed } from "@aegis/contract/need.ts";
import type { Model } from "../model.ts";

export type OpenAsk = { readonly ask: Ask; readonly session: Card };

export function needsYou(board: Board): OpenAsk[] {
  return board.asks
    .flatMap((ask) => {
      const session = board.cards[ask.session];
      return session === undefined ? [] : [{ ask, session }];
    })
    .sort((a, b) => a.ask.created_at - b.ask.created_at);
}

/** What the daemon lists besides the asks, which events tell at once. */
export function otherNeeds({ lists }: Pick<Model, "lists">): readonly OpenNeed[] {
  return (lists.status?.needs ?? []).filter(({ kind }) => kind !== "ask");
}

/** How many wait; the screen "needs you" has as many rows. */
export function needCount(model: Pick<Model, "state" | "lists">): number {
  return needsYou(model.state).length + otherNeeds(model).length;
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
