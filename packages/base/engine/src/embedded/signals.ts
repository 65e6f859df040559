/** Matches signals with their receivers. A signal that arrives early waits in the store. */
import type { RunId } from "@aegis/contract/ids.ts";
import type { Json } from "@aegis/contract/run.ts";
import { SerialByKey } from "@aegis/lib/serial.ts";
import { onAbort } from "@aegis/lib/until-aborted.ts";
import type { SignalRow, Store } from "@aegis/store/store.ts";

/** Tells other nodes that a signal for a run is there. */
const hintPrefix = "signal ";

export type ReceivedSignal = { key: string; value: Json };

export class Signals {
  readonly #store: Store;
  readonly #knocks = new Map<string, Set<() => void>>();
  /** Signals that were delivered to a receiver whose step has not ended yet. No other receiver gets them. */
  readonly #given = new Set<string>();
  readonly #looks = new SerialByKey();

  constructor(store: Store) {
    this.#store = store;
    store.membership?.onHint((hint) => {
      if (hint.startsWith(hintPrefix)) this.#knock(hint.slice(hintPrefix.length));
    });
  }

  async send(run: RunId, name: string, value: Json, key: string): Promise<void> {
    await this.#store.transact(async (tx) => {
      await tx.signals.add({ run, key, name, value: JSON.stringify(value) });
      // The run may execute on another node.
      if (this.#store.membership !== undefined) await tx.nodes.tell(`${hintPrefix}${run}`);
    });
    this.#knock(run);
  }

  /** For signals of other nodes whose hint was lost. */
  lookAgain(): void {
    if (this.#store.membership === undefined) return;
    for (const knocks of this.#knocks.values()) for (const knock of knocks) knock();
  }

  #knock(run: string): void {
    for (const [id, knocks] of this.#knocks) if (id.startsWith(`${run}/`)) for (const knock of knocks) knock();
  }

  /** Resolves with null when the callback passed to `arm` reports the timeout. Rejects if the signal aborts. */
  async receive(
    run: RunId,
    name: string,
    signal: AbortSignal,
    arm: (over: () => void) => void,
  ): Promise<ReceivedSignal | null> {
    const knocks = this.#knocks.get(`${run}/${name}`) ?? new Set();
    let isOver = false;
    let news = Promise.withResolvers<void>();
    const knock = () => news.resolve();
    this.#knocks.set(`${run}/${name}`, knocks.add(knock));
    const release = onAbort(signal, knock);
    arm(() => {
      isOver = true;
      knock();
    });
    try {
      while (true) {
        signal.throwIfAborted();
        const row = await this.#look(run, name);
        if (row) return { key: row.key, value: JSON.parse(row.value) as Json };
        if (isOver) return null;
        await news.promise;
        news = Promise.withResolvers();
      }
    } finally {
      knocks.delete(knock);
      if (knocks.size === 0) this.#knocks.delete(`${run}/${name}`);
      release();
    }
  }

  /** The run no longer executes here. */
  forget(run: RunId): void {
    for (const id of this.#given) if (id.startsWith(`${run}/`)) this.#given.delete(id);
  }

  /** Looks follow each other, so that the receiver that asked first gets the first signal. */
  #look(run: RunId, name: string): Promise<SignalRow | null> {
    return this.#looks.run(`${run}/${name}`, async () =>
      this.#claim(await this.#store.read.signals.waiting(run, name)),
    );
  }

  #claim(rows: readonly SignalRow[]): SignalRow | null {
    const free = rows.find((row) => !this.#given.has(`${row.run}/${row.key}`));
    if (free) this.#given.add(`${free.run}/${free.key}`);
    return free ?? null;
  }
}
