/** What a session is doing, in a few words. The text may contain anything that an agent wrote. */
import type { Board, Card } from "@aegis/client/model/board.ts";

export type Activity = {
  /** `asks` waits for a person. */
  readonly state: "asks" | "working" | "ready" | "error" | "closed";
  readonly words: string;
  /** Since when; null if nothing happens. */
  readonly since: number | null;
};

export function activityOf(board: Board, session: Card): Activity {
  if (session.state === "closed") return { state: "closed", words: "closed", since: session.closed_at };
  const ask = board.asks.find((one) => one.session === session.id);
  if (ask !== undefined) return { state: "asks", words: ask.question, since: ask.created_at };
  if (session.state === "error") return { state: "error", words: session.error ?? "error", since: null };
  if (session.state === "ready") return { state: "ready", words: "", since: session.last_turn_at };
  const { doing, last_turn_at } = session;
  return doing === null
    ? { state: "working", words: "starts", since: null }
    : { state: "working", words: doing.words, since: last_turn_at };
}
