/** Finds the edits of a session's turns in its events. */
import type { Event, EventOf } from "../../../contract/event.ts";
import type { TurnId } from "../../../contract/ids.ts";

export type Change = {
  /** The number of the turn in the session, from 1. */
  turn_number: number;
  turn: TurnId;
  at: number;
  tool: string;
  path: string;
  /** `unconfirmed`: no result of the call is recorded, so the edit may not have been made. */
  status: "made" | "failed" | "unconfirmed";
  /** The text before and after; null if the harness reported only the path. */
  diff: { before: string | null; after: string } | null;
};

export function changesIn(events: readonly Event[]): Change[] {
  const turns = new Map<TurnId, number>();
  const results = new Map<string, EventOf<"turn.tool_result">>();
  for (const event of events) {
    if (event.type === "turn.started") turns.set(event.data.turn, turns.size + 1);
    if (event.type === "turn.tool_result") results.set(keyOf(event.data), event);
  }
  return events.flatMap((event) => {
    if (event.type !== "turn.tool_call") return [];
    const { turn, name, kind, locations } = event.data;
    const result = results.get(keyOf(event.data))?.data;
    const diff = result?.diff ?? event.data.diff;
    const paths = diff !== null ? [diff.path] : kind === "edit" ? locations.map(({ path }) => path) : [];
    return [...new Set(paths)].map((path): Change => {
      const status = result === undefined ? "unconfirmed" : result.is_error ? "failed" : "made";
      const texts = diff === null ? null : { before: diff.before, after: diff.after };
      return { turn_number: turns.get(turn) ?? 0, turn, at: event.at, tool: name, path, status, diff: texts };
    });
  });
}

function keyOf({ turn, call }: { turn: TurnId; call: string }): string {
  return `${turn}/${call}`;
}
