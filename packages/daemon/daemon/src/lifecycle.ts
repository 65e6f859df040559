/** Starts and stops the parts of a daemon. Every part names its steps, and one array defines their order. */
import type { RecoveringPart } from "@aegis/cluster/recovery.ts";
import { aborted } from "@aegis/lib/until-aborted.ts";
import { nodeOf } from "@aegis/nodes/node-of.ts";
import type { Store } from "@aegis/store/store.ts";

/**
 * A part of the daemon that works on its own. All steps are optional; a part says with `recovery: null` that no stored
 * work of a node belongs to it.
 */
export type Part = RecoveringPart & {
  name: string;
  /** Reads or repairs what is on this machine. No turn starts yet, and the work that an earlier daemon left is not settled. */
  prepare?(): unknown;
  /** Starts work. The parts of plugins are registered and the API answers. */
  start?(): unknown;
  /** Starts nothing new and lets running work finish until the deadline. */
  stop?(deadline: AbortSignal): unknown;
  /** Writes the results of work that ended while the parts stopped. */
  settle?(deadline: AbortSignal): unknown;
};

/** Parts recover and start in their order, and stop and settle in the reverse order. */
export class Lifecycle {
  readonly #parts: readonly Part[];
  readonly #store: Store;
  #stopping: Promise<void> | null = null;

  constructor(parts: readonly Part[], store: Store) {
    this.#parts = parts;
    this.#store = store;
  }

  /** Settles the work that an earlier daemon left unfinished. */
  async recover(): Promise<void> {
    const node = nodeOf(this.#store);
    for (const part of this.#parts) {
      await part.prepare?.();
      const { recovery } = part;
      if (recovery?.recoverIn === undefined) continue;
      const { recoverIn } = recovery;
      const then = await this.#store.transact((tx) => recoverIn(tx, node));
      await then();
    }
  }

  /** Starts work, and continues what `recover` has settled. */
  async start(): Promise<void> {
    for (const part of this.#parts) {
      await part.start?.();
      await part.recovery?.resume?.();
    }
  }

  /**
   * Work that is still running at the deadline is left as after a crash; the next start recovers it. A part that fails
   * does not keep the others running: its error is thrown when all of them have stopped. Stops only once.
   */
  stop(deadline: AbortSignal): Promise<void> {
    this.#stopping ??= this.#stop(deadline);
    return this.#stopping;
  }

  async #stop(deadline: AbortSignal): Promise<void> {
    const errors: unknown[] = [];
    const attempt = async (step: () => unknown) => {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    };
    for (const part of this.#parts.toReversed()) await attempt(() => part.stop?.(deadline));
    for (const part of this.#parts.toReversed()) await attempt(() => part.settle?.(deadline));
    if (errors.length > 0) throw errors[0];
  }
}

/** Waits for the promise, at most until the deadline. */
export async function before(promise: Promise<unknown>, deadline: AbortSignal): Promise<void> {
  await Promise.race([promise, aborted(deadline)]);
}
