/** Computes how much of its budget each tree of agents has used. */

import { offlineHarness } from "@aegis/agents/agent-table.ts";
import { treeTotals } from "@aegis/agents/rights/rules.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Tree } from "@aegis/contract/subagent.ts";
import type { StoreReads } from "@aegis/store/store.ts";

/** The number of closed trees that are listed with the open ones. */
const mostClosed = 200;

/** The root sessions that ever had a descendant, or only the named one. */
export async function listTrees(read: StoreReads, now: number, only?: SessionId): Promise<Tree[]> {
  const named = only === undefined ? null : await read.sessions.get(only);
  const roots = only === undefined ? await read.subagents.roots(mostClosed) : named === null ? [] : [named];
  const trees: Tree[] = [];
  for (const { id: root, handle, closed_at } of roots) {
    const used = await read.subagents.spending(root, offlineHarness);
    const { live, spawned, recent } = await treeTotals(read, root, now);
    const pooled = await read.subagents.pooled(root);
    trees.push({ root, handle, closed_at, live, spawned, recent, ...used, pooled });
  }
  return trees;
}
