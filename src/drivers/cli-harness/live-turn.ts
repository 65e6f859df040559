/** One running turn: the events for its reader, and exactly one end, for every cause. */
import type { DriverEvent, TurnEnded } from "../driver.ts";
import { TurnEvents } from "./turn-events.ts";

export class LiveTurn {
  readonly events = new TurnEvents();
  /** Resolves when the turn ends. Never rejects. */
  readonly over: Promise<void>;
  readonly #closing = new AbortController();
  readonly #over = Promise.withResolvers<void>();

  constructor() {
    this.over = this.#over.promise;
  }

  /** Aborts when the turn ends, to stop work that belongs only to it. */
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
