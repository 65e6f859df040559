/** The listeners of a store's commits. */
import type { Event, EventType } from "@aegis/contract/event.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { CommitListener, WithSize, Writers } from "./store.ts";

export class Listeners {
  readonly #log: Logger;
  readonly #entries = new Set<{ from: Writers; call: CommitListener; whileAny: WithSize | null }>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Returns its undo. */
  add(
    listener: CommitListener,
    types?: readonly EventType[],
    from: Writers = "all",
    whileAny: WithSize | null = null,
  ): () => void {
    // An entry of its own, so that the undo of one registration never takes back another of the same function.
    const entry = { from, call: types === undefined ? listener : ofTypes(types, listener), whileAny };
    this.#entries.add(entry);
    return () => this.#entries.delete(entry);
  }

  /** `own` are the events that this node wrote. */
  publish(events: readonly Event[], own: readonly Event[] = events): void {
    const ours = new Set(events === own ? [] : own);
    const others = events === own ? [] : events.filter((event) => !ours.has(event));
    const byWriter: Readonly<Record<Writers, readonly Event[]>> = { all: events, own, others };
    for (const entry of [...this.#entries]) {
      const wanted = byWriter[entry.from];
      if (wanted.length === 0 || entry.whileAny?.size === 0) continue;
      try {
        entry.call(wanted);
      } catch (error) {
        this.#log.error("a listener of the store failed", { error: errorText(error), seq: events.at(-1)?.seq });
      }
    }
  }

  clear(): void {
    this.#entries.clear();
  }
}

function ofTypes(types: readonly EventType[], listener: CommitListener): CommitListener {
  const wanted = new Set(types);
  return (events) => {
    const some = events.filter(({ type }) => wanted.has(type));
    if (some.length > 0) listener(some);
  };
}
