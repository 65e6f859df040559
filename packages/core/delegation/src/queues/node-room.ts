import { hasLabels, labelWords, nodeFor } from "@aegis/nodes/placement.ts";
import type { StoreReads, StoreTx } from "@aegis/store/store.ts";

/** How many more workers with these labels the node may start. A node that is draining starts none. */
export async function roomOfNode(tx: StoreTx, node: string | null, labels: readonly string[]): Promise<number> {
  if (node === null) return Number.POSITIVE_INFINITY;
  const row = await tx.nodes.get(node);
  if (row === null || row.draining || !hasLabels(row, labels)) return 0;
  if (row.sessions_max === null) return Number.POSITIVE_INFINITY;
  const sessions = (await tx.nodes.sessions()).get(node) ?? 0;
  return Math.max(0, row.sessions_max - sessions);
}

/** What a task waits for if no node with these labels takes work; else null. */
export async function missingLabels(
  from: Pick<StoreReads, "nodes">,
  node: string | null,
  labels: readonly string[],
): Promise<string | null> {
  if (node === null || labels.length === 0 || (await nodeFor(from, node, labels)) !== null) return null;
  return `a node with ${labelWords(labels)}`;
}
