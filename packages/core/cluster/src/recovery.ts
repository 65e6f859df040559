/**
 * What happens to work that a daemon left in the middle. The daemon calls the same steps for its own work when it starts
 * and for the work of a lost node when it takes over, so that no part can recover from one and not from the other.
 */
import type { StoreTx } from "@aegis/store/store.ts";

export type Recovery = {
  /**
   * Settles what the node was doing; null is a daemon without a cluster. Returns what is to be done once the transaction
   * has committed. No turn starts in between. Safe to repeat.
   */
  recoverIn?(tx: StoreTx, node: string | null): Promise<() => unknown>;
  /** Continues all stored work of this node. Safe to repeat. */
  resume?(): unknown;
};

/** A part of the daemon; null if no stored work of a node belongs to it. */
export type RecoveringPart = { readonly recovery: Recovery | null };
