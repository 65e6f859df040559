/** Detects a worker that stops answering while a caller waits for it. An idle worker is not watched. */

export type WatchdogOptions = {
  /** How long it may be busy without answering. */
  limitMs: number;
  isBusy: () => boolean;
  ping: (id: number) => void;
  /** Called once, with the time since its last answer. */
  onStuck: (ms: number) => void;
};

const beatMs = 250;

export class WorkerWatchdog {
  readonly #options: WatchdogOptions;
  #ping: { id: number; at: number; limit: number } | null = null;
  #doubt: PromiseWithResolvers<void> | null = null;
  #beat: NodeJS.Timeout | null = null;
  #last = 0;

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  /** Settles with the answer to `demand`; null if no answer was demanded. */
  get doubt(): Promise<void> | null {
    return this.#doubt?.promise ?? null;
  }

  /** Starts watching for as long as the worker is busy. */
  watch(): void {
    this.#beat ??= setInterval(() => this.#onBeat(), beatMs).unref();
  }

  /** Called when a call is late: the worker must now answer within a shorter time. */
  demand(limit: number): void {
    this.#doubt ??= Promise.withResolvers();
    this.#send(limit);
    this.watch();
  }

  heard(id: number): void {
    if (this.#ping?.id !== id) return;
    this.#ping = null;
    this.#settle();
  }

  stop(): void {
    if (this.#beat !== null) clearInterval(this.#beat);
    this.#beat = null;
    this.#settle();
  }

  #onBeat(): void {
    const ping = this.#ping;
    if (ping !== null) {
      const waited = performance.now() - ping.at;
      if (waited < ping.limit) return;
      this.stop();
      this.#options.onStuck(waited);
    } else if (this.#options.isBusy()) this.#send(this.#options.limitMs);
    else this.stop();
  }

  #send(limit: number): void {
    if (this.#ping !== null) {
      const waited = performance.now() - this.#ping.at;
      this.#ping.limit = Math.min(this.#ping.limit, waited + limit);
      return;
    }
    this.#last += 1;
    this.#ping = { id: this.#last, at: performance.now(), limit };
    this.#options.ping(this.#last);
  }

  #settle(): void {
    this.#doubt?.resolve();
    this.#doubt = null;
  }
}
