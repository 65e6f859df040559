/** What each tree of agents has used up of its budget. */
import type { Tree } from "../../contract/subagent.ts";
import type { StoreReads } from "../../store/store.ts";
import { offlineHarness } from "../registry/agents.ts";

/** Of the sessions that are open and nobody's subagent, those that ever had somebody work for them. */
export async function listTrees(read: StoreReads): Promise<Tree[]> {
  const trees: Tree[] = [];
  for (const { id: root, handle } of await read.subagents.roots()) {
    const used = await read.subagents.spending(root, offlineHarness);
    trees.push({ root, handle, ...(await read.subagents.totals(root)), ...used });
  }
  return trees;
}
