/**
 * The settings on which the nodes of a cluster agree: those of most live nodes, and in a tie those of the node that
 * joined first. A node with different settings is drifted: it fires no schedules and does not change their rows. The
 * same applies to a node whose clock is wrong, although slots follow the clock of the database: either of them may be
 * the wrong one, and what a slot starts sees the time of the node.
 */
import { mostClockDifferenceMs } from "@aegis/contract/node.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import type { NodeRow, StoreTx } from "@aegis/store/store.ts";

/** The hash of the agreed settings; null if no live node has stored its settings. */
export function agreedHash(nodes: readonly NodeRow[]): string | null {
  const votes = new Map<string, number>();
  const live = nodes.filter(({ alive, lease_ms }) => alive && lease_ms >= 0);
  // The order decides ties: a map keeps the order in which its keys were added.
  for (const { config_hash } of live.toSorted(byAge))
    if (config_hash !== null) votes.set(config_hash, (votes.get(config_hash) ?? 0) + 1);
  let agreed: string | null = null;
  for (const [hash, count] of votes) if (agreed === null || count > (votes.get(agreed) ?? 0)) agreed = hash;
  return agreed;
}

/** Why the node must not decide slots, or null. Inside a transaction no other node can change the settings. */
export async function whyHeld(tx: StoreTx, node: string): Promise<string | null> {
  return reasonOf(await tx.nodes.list(), node);
}

function reasonOf(nodes: readonly NodeRow[], node: string): string | null {
  const own = nodes.find(({ name }) => name === node);
  const hash = own?.config_hash ?? null;
  if (own === undefined || hash === null || hash !== agreedHash(nodes))
    return "its settings differ from those of the other nodes";
  const seconds = Math.round((systemClock.now() - own.now) / 1_000);
  if (Math.abs(seconds) * 1_000 <= mostClockDifferenceMs) return null;
  return `its clock is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the clock of the database`;
}

function byAge(a: NodeRow, b: NodeRow): number {
  return a.joined_at - b.joined_at || (a.name < b.name ? -1 : 1);
}

export type AgreementOptions = {
  node: string;
  schedules: { readonly isHeld: boolean; settingsChanged(): Promise<void> };
};

/** Stops the schedules of this node when it is drifted or its clock is wrong, and starts them again. Idempotent. */
export async function followAgreement(nodes: readonly NodeRow[], options: AgreementOptions): Promise<void> {
  const { node, schedules } = options;
  if ((reasonOf(nodes, node) === null) === schedules.isHeld) await schedules.settingsChanged();
}
