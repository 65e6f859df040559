/** Runs work one at a time per key. Work with other keys is not delayed. */

/** Runs all work, in the order of the calls. */
export class SerialByKey {
  readonly #last = new Map<string, Promise<void>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled = result.then(
      () => {},
      () => {},
    );
    this.#last.set(key, settled);
    settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return result;
  }
}

export type Drain<Key extends string> = (key: Key, signal: AbortSignal) => Promise<void>;

type Running = { wokenAgain: boolean; done: Promise<void> };

/** Runs at most one drain per key, such as a session, and never loses a wake. */
export class Drains<Key extends string> {
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
