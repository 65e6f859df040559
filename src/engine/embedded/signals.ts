/** Who waits for which signal. A signal that came early waits in the store. */
import type { RunId } from "../../contract/ids.ts";
import type { Json } from "../../contract/run.ts";
import type { SignalRow, Store } from "../../store/store.ts";

export type Received = { key: string; value: Json };

export class Signals {
  readonly #store: Store;
  readonly #knocks = new Map<string, Set<() => void>>();
  /** Signals given to a receiver whose step has not ended yet: nobody else gets them. */
  readonly #given = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  async send(run: RunId, name: string, value: Json, key: string): Promise<void> {
    await this.#store.transact((tx) => tx.signals.add({ run, key, name, value: JSON.stringify(value) }));
    for (const knock of this.#knocks.get(`${run}/${name}`) ?? []) knock();
  }

  /** Null once `arm`'s callback says that the time is over. Rejects when the signal aborts. */
  async receive(
    run: RunId,
    name: string,
    signal: AbortSignal,
    arm: (over: () => void) => void,
  ): Promise<Received | null> {
    const knocks = this.#knocks.get(`${run}/${name}`) ?? new Set();
    let isOver = false;
    let news = Promise.withResolvers<void>();
    const knock = () => news.resolve();
    this.#knocks.set(`${run}/${name}`, knocks.add(knock));
    signal.addEventListener("abort", knock, { once: true });
    arm(() => {
      isOver = true;
      knock();
    });
    try {
      while (true) {
        signal.throwIfAborted();
        const row = this.#claim(await this.#store.read.signals.waiting(run, name));
        if (row) return { key: row.key, value: JSON.parse(row.value) as Json };
        if (isOver) return null;
        await news.promise;
        news = Promise.withResolvers();
      }
    } finally {
      knocks.delete(knock);
      if (knocks.size === 0) this.#knocks.delete(`${run}/${name}`);
      signal.removeEventListener("abort", knock);
    }
  }

  /** The run is not executed here any more. */
  forget(run: RunId): void {
    for (const id of this.#given) if (id.startsWith(`${run}/`)) this.#given.delete(id);
  }

  #claim(rows: readonly SignalRow[]): SignalRow | null {
    const free = rows.find((row) => !this.#given.has(`${row.run}/${row.key}`));
    if (free) this.#given.add(`${free.run}/${free.key}`);
    return free ?? null;
  }
}
