/** Finds the tree position of a session. Depth, time limit and budget of a tree extend through pooled sessions. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { StoreReads, SubagentRow } from "@aegis/store/store.ts";

/** `own` is the subagent that the session is, or works for while it is leased. */
export type TreePosition = { own: SubagentRow | null; root: SessionId };

export async function treePositionOf(from: StoreReads, session: SessionId): Promise<TreePosition> {
  const own = await from.subagents.ofSession(session);
  if (own !== null) return { own, root: own.root };
  const holder = (await from.pool.get(session))?.lease?.holder;
  if (holder !== undefined) return treePositionOf(from, holder);
  const row = await from.sessions.get(session);
  return { own: null, root: row?.root ?? session };
}

/** When the branch of a session started: the start of the session directly below the root. Null for the root itself. */
export async function branchStart(from: StoreReads, session: SessionId): Promise<number | null> {
  let began: number | null = null;
  const seen = new Set<SessionId>();
  for (let next: SessionId | null = session; next !== null && !seen.has(next); ) {
    seen.add(next);
    const holder: SessionId | undefined = (await from.pool.get(next))?.lease?.holder;
    const row = await from.sessions.get(next);
    const above: SessionId | null = holder ?? row?.started_by ?? null;
    // A pooled session is older than the task for which it is leased.
    if (above !== null && holder === undefined) began = row?.created_at ?? began;
    next = above;
  }
  return began;
}
