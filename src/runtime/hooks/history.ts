/** The conversation of a session before a turn, as hooks see it. A fork includes the history of its origin. */
import type { HookTurn } from "../../contract/hook.ts";
import type { TurnId } from "../../contract/ids.ts";
import type { SessionRow, StoreReads, TurnRow } from "../../store/store.ts";
import { renderBatch } from "../inbox/render.ts";

/** A hook that needs more requests the session's history itself. */
const mostTurns = 50;
const mostCharacters = 200_000;
/** The batch size of reads: small enough to stop early, large enough to limit the number of reads. */
const readAtOnce = 10;

/** Returns the newest turns that fit, in chronological order. */
export async function historyBefore(read: StoreReads, session: SessionRow, turn: TurnId): Promise<HookTurn[]> {
  const earlier = await turnsBefore(read, session, turn);
  const history: HookTurn[] = [];
  let characters = 0;
  for (let from = 0; from < earlier.length; from += readAtOnce) {
    const turns = earlier.slice(from, from + readAtOnce);
    const messages = Map.groupBy(await read.messages.inTurns(turns.map(({ id }) => id)), (message) => message.turn);
    for (const { id, text } of turns) {
      const asked = renderBatch(messages.get(id) ?? []);
      characters += asked.length + text.length;
      if (characters > mostCharacters) return history.reverse();
      if (text !== "") history.push({ role: "assistant", text });
      // A message that was sent again belongs to the later turn.
      if (asked !== "") history.push({ role: "user", text: asked });
    }
  }
  return history.reverse();
}

/** Newest first; the turns of the sessions that it was forked from come last. */
async function turnsBefore(read: StoreReads, session: SessionRow, turn: TurnId): Promise<TurnRow[]> {
  const turns: TurnRow[] = [];
  let until: number | undefined;
  for (let row: SessionRow | null = session; row !== null && turns.length < mostTurns; ) {
    const own = await read.turns.list(row.id, mostTurns + 1, until);
    turns.push(...own.filter(({ id }) => id !== turn));
    until = Math.min(until ?? Number.MAX_SAFE_INTEGER, row.fork_point?.seq ?? 0);
    row = row.forked_from === null ? null : await read.sessions.get(row.forked_from);
  }
  return turns.slice(0, mostTurns);
}
