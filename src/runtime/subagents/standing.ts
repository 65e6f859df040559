/** For whom a session works: depth, time and budget of a tree go on through the agents of the pool. */
import type { SessionId } from "../../contract/ids.ts";
import type { StoreTx, SubagentRow } from "../../store/store.ts";

/** `own` is the subagent that the session is, or works for while it is held. */
export type Standing = { own: SubagentRow | null; root: SessionId };

export async function standingOf(tx: StoreTx, session: SessionId): Promise<Standing> {
  const own = await tx.subagents.ofSession(session);
  if (own !== null) return { own, root: own.root };
  const holder = (await tx.pool.get(session))?.lease?.holder;
  return holder === undefined ? { own: null, root: session } : standingOf(tx, holder);
}
