/**
 * Runs at most one drain per session and never loses a wake. Different sessions drain side by side.
 */
import type { SessionId } from "../../contract/ids.ts";

export type Drain = (session: SessionId, signal: AbortSignal) => Promise<void>;

type Running = { wokenAgain: boolean; done: Promise<void> };

export class Drains {
  readonly #running = new Map<SessionId, Running>();
  readonly #drain: Drain;
  readonly #onError: (session: SessionId, error: unknown) => void;
  readonly #stop = new AbortController();

  constructor(drain: Drain, onError: (session: SessionId, error: unknown) => void) {
    this.#drain = drain;
    this.#onError = onError;
  }

  /** A hint that work may be waiting. Never throws; many wakes become one. */
  wake(session: SessionId): void {
    if (this.#stop.signal.aborted) return;
    const running = this.#running.get(session);
    if (running) running.wokenAgain = true;
    else this.#start(session);
  }

  /** Starts no new drain and waits for those under way, which see their signal abort between turns. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#running.values()].map((running) => running.done));
  }

  #start(session: SessionId): void {
    const running: Running = { wokenAgain: false, done: Promise.resolve() };
    this.#running.set(session, running);
    running.done = this.#run(session, running);
  }

  async #run(session: SessionId, running: Running): Promise<void> {
    try {
      await this.#drain(session, this.#stop.signal);
    } catch (error) {
      this.#onError(session, error);
    }
    this.#running.delete(session);
    // Work admitted while the drain was finishing or failing still deserves a fresh one.
    if (running.wokenAgain) this.wake(session);
  }
}
