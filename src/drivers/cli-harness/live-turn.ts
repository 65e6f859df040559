/** One turn under way: the events its reader gets, and exactly one end whoever brings it. */
import { AsyncQueue } from "../../lib/async-queue.ts";
import type { DriverEvent, TurnEnded } from "../driver.ts";

export class LiveTurn {
  readonly events = new AsyncQueue<DriverEvent>();
  /** Resolves with the turn. Never rejects. */
  readonly over: Promise<void>;
  readonly #closing = new AbortController();
  readonly #over = Promise.withResolvers<void>();

  constructor() {
    this.over = this.#over.promise;
  }

  /** Aborted when the turn is over: ends what was only meant for it. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  get isOver(): boolean {
    return this.#closing.signal.aborted;
  }

  push(events: readonly DriverEvent[]): void {
    for (const event of events) this.events.push(event);
  }

  /** Only the first end counts. */
  end(ended: Omit<TurnEnded, "type">): void {
    if (this.isOver) return;
    this.events.push({ type: "turn.ended", ...ended });
    this.events.end();
    this.#closing.abort();
    this.#over.resolve();
  }
}
