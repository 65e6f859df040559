/** What was said in a session before a turn, as hooks are shown it. */
import type { HookTurn } from "../../contract/hook.ts";
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { StoreReads } from "../../store/store.ts";
import { renderBatch } from "../inbox/render.ts";

/** A hook that wants more asks for the session's history itself. */
const mostTurns = 50;
const mostCharacters = 200_000;

/** The newest turns that fit, the oldest of them first. */
export async function historyBefore(read: StoreReads, session: SessionId, turn: TurnId): Promise<HookTurn[]> {
  const earlier = (await read.turns.list(session, mostTurns + 1)).filter(({ id }) => id !== turn);
  const history: HookTurn[] = [];
  let characters = 0;
  for (const { id, text } of earlier) {
    const asked = renderBatch(await read.messages.inTurn(id));
    characters += asked.length + text.length;
    if (characters > mostCharacters) break;
    if (text !== "") history.push({ role: "assistant", text });
    // Messages that were sent again belong to the later turn.
    if (asked !== "") history.push({ role: "user", text: asked });
  }
  return history.reverse();
}
