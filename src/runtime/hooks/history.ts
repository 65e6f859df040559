/** What was said in a session before a turn, as hooks are shown it. A fork goes on from what its origin had said. */
import type { HookTurn } from "../../contract/hook.ts";
import type { TurnId } from "../../contract/ids.ts";
import type { SessionRow, StoreReads, TurnRow } from "../../store/store.ts";
import { renderBatch } from "../inbox/render.ts";

/** A hook that wants more asks for the session's history itself. */
const mostTurns = 50;
const mostCharacters = 200_000;
/** Turns whose messages are read at once: few enough to stop in time, enough to make few reads. */
const readAtOnce = 10;

/** The newest turns that fit, the oldest of them first. */
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
      // Messages that were sent again belong to the later turn.
      if (asked !== "") history.push({ role: "user", text: asked });
    }
  }
  return history.reverse();
}

/** The newest first, those of the sessions it was forked from last. */
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
