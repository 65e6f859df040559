/** Wakes those who wait for a broadcast when something about it has changed. A lost hint costs time, never a reply. */
import type { BroadcastId } from "../../contract/ids.ts";

export class Hints {
  readonly #listeners = new Map<BroadcastId, Set<() => void>>();

  /** Returns its undo. */
  listen(id: BroadcastId, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id);
    };
  }

  give(id: BroadcastId): void {
    for (const listener of [...(this.#listeners.get(id) ?? [])]) listener();
  }
}
