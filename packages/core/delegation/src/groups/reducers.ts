/** Reducers, which combine several replies into one: built-in ones and those of plugins. */

import { unknownName } from "@aegis/agents/unknown-name.ts";
import { AegisError } from "@aegis/contract/errors.ts";

export type ReducerReply = { handle: string; text: string };

/**
 * Receives the successful replies in order of arrival, possibly none. Returns text or a JSON value, or a promise of one.
 * The signal aborts when no caller waits. An error is reported to the waiting caller together with the replies.
 */
export type Reducer = (replies: readonly ReducerReply[], signal: AbortSignal) => unknown;

export class ReducerTable {
  readonly #reducers = new Map<string, Reducer>([
    ["concat", concat],
    ["join_by_handle", joinByHandle],
    ["last_wins", lastWins],
    ["majority_vote", majorityVote],
  ]);

  /** Returns a function that removes it. Throws if the name exists. */
  add(name: string, reducer: Reducer): () => void {
    if (this.#reducers.has(name)) throw new AegisError("conflict", `a reducer "${name}" exists already`);
    this.#reducers.set(name, reducer);
    return () => {
      if (this.#reducers.get(name) === reducer) this.#reducers.delete(name);
    };
  }

  /** Throws `not_found` with the nearest name. */
  get(name: string): Reducer {
    const reducer = this.#reducers.get(name);
    if (reducer) return reducer;
    throw unknownName("reducer", name, this.names, "there is none");
  }

  get names(): string[] {
    return [...this.#reducers.keys()];
  }
}

function concat(replies: readonly ReducerReply[]): string {
  return replies.map(({ handle, text }) => `---\n${handle}: ${text}`).join("\n\n");
}

function joinByHandle(replies: readonly ReducerReply[]): Record<string, string> {
  return Object.fromEntries(replies.map(({ handle, text }) => [handle, text]));
}

function lastWins(replies: readonly ReducerReply[]): string {
  return replies.at(-1)?.text ?? "";
}

/** The most frequent text, without surrounding white space. If several are equally frequent, the first one. */
function majorityVote(replies: readonly ReducerReply[]): string {
  const votes = new Map<string, number>();
  for (const { text } of replies) votes.set(text.trim(), (votes.get(text.trim()) ?? 0) + 1);
  let winner = "";
  let most = 0;
  for (const [text, count] of votes) {
    if (count <= most) continue;
    winner = text;
    most = count;
  }
  return winner;
}
