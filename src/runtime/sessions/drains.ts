/**
 * Runs at most one drain per key, such as a session, and never loses a wake. Drains of different keys run in parallel.
 */
import type { SessionId } from "../../contract/ids.ts";

export type Drain<Key extends string = SessionId> = (key: Key, signal: AbortSignal) => Promise<void>;

type Running = { wokenAgain: boolean; done: Promise<void> };

export class Drains<Key extends string = SessionId> {
  readonly #running = new Map<Key, Running>();
  readonly #drain: Drain<Key>;
  readonly #onError: (key: Key, error: unknown) => void;
  readonly #stop = new AbortController();

  constructor(drain: Drain<Key>, onError: (key: Key, error: unknown) => void) {
    this.#drain = drain;
    this.#onError = onError;
  }

  /** A hint that work may be pending. Never throws; multiple wakes are coalesced. */
  wake(key: Key): void {
    if (this.#stop.signal.aborted) return;
    const running = this.#running.get(key);
    if (running) running.wokenAgain = true;
    else this.#start(key);
  }

  /** Starts no new drain and waits for the running ones, whose signal aborts between turns. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#running.values()].map((running) => running.done));
  }

  #start(key: Key): void {
    const running: Running = { wokenAgain: false, done: Promise.resolve() };
    this.#running.set(key, running);
    running.done = this.#run(key, running);
  }

  async #run(key: Key, running: Running): Promise<void> {
    try {
      await this.#drain(key, this.#stop.signal);
    } catch (error) {
      this.#onError(key, error);
    }
    this.#running.delete(key);
    // Work admitted while the drain was finishing or failing needs another drain.
    if (running.wokenAgain) this.wake(key);
  }
}
