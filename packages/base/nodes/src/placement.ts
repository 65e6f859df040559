/** Chooses the node of a session by the labels that the session requires. */
import { AegisError } from "@aegis/contract/errors.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { NodeRow, SessionRow, StoreReads } from "@aegis/store/store.ts";

type OfNodes = Pick<StoreReads, "nodes">;

/** Whether the node has every label. Its own name counts as one. */
export function hasLabels({ name, labels }: Pick<NodeRow, "name" | "labels">, wanted: readonly string[] = []): boolean {
  return wanted.every((label) => label === name || labels.includes(label));
}

/** Whether the node is alive and takes new work. */
function takesWork({ alive, lease_ms, draining }: NodeRow): boolean {
  return alive && lease_ms >= 0 && !draining;
}

/** Labels of several places, each once. */
export function allLabels(...lists: readonly (readonly string[] | null | undefined)[]): string[] {
  return [...new Set(lists.flatMap((list) => list ?? []))];
}

/**
 * The node of a session: `own` if it has the labels; else the node with the fewest sessions among those that have them
 * and room. Null if no node that takes work has them.
 */
export async function nodeFor(from: OfNodes, own: string, labels: readonly string[]): Promise<string | null> {
  if (labels.length === 0) return own;
  const nodes = await from.nodes.list();
  if (nodes.some((node) => node.name === own && hasLabels(node, labels))) return own;
  const counts = await from.nodes.sessions();
  const able = nodes
    .filter((node) => takesWork(node) && hasLabels(node, labels))
    .map(({ name, sessions_max }) => ({ name, count: counts.get(name) ?? 0, most: sessions_max ?? Infinity }))
    .sort((a, b) => Number(a.count >= a.most) - Number(b.count >= b.most) || a.count - b.count);
  return able[0]?.name ?? null;
}

/** Like `nodeFor`, for work that cannot wait. Throws `unavailable` with the labels of all nodes. */
export async function requireNodeFor(from: OfNodes, own: string, labels: readonly string[]): Promise<string> {
  const node = await nodeFor(from, own, labels);
  if (node !== null) return node;
  const nodes = await from.nodes.list();
  const known = nodes.map(
    (one) => `${one.name} (${takesWork(one) ? one.labels.join(", ") || "no labels" : "takes no work"})`,
  );
  const words = allLabels(...nodes.map(({ name, labels }) => [name, ...labels]));
  const unknown = labels.find((label) => !words.includes(label));
  const near = unknown === undefined ? "" : didYouMean(unknown, words);
  throw new AegisError("unavailable", `no node with ${labelWords(labels)} takes work${near}`, {
    hint: `start a node with these cluster.labels; nodes: ${known.join(", ")}`,
  });
}

export function labelWords(labels: readonly string[]): string {
  return `the label${labels.length === 1 ? "" : "s"} ${labels.join(", ")}`;
}

/** The labels that the node of a session must have. */
export function labelsOf({ nodes }: Pick<SessionRow, "nodes">): readonly string[] {
  return nodes ?? [];
}
