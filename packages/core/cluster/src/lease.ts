/**
 * Renews the lease of this node. A node that cannot renew it for two thirds of its time stops its work before another
 * node may take over. Times here come from a monotonic clock.
 */
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { StoreMembership } from "@aegis/store/store.ts";

export type LeaseOptions = {
  membership: StoreMembership;
  leaseMs: number;
  clock: Clock;
  log: Logger;
  /** Called once. The node must end everything that it does. */
  onLost: (reason: string) => void;
};

const longestRetryMs = 500;

export class Lease {
  readonly #options: LeaseOptions;
  readonly #stop = new AbortController();
  /** When the last successful renewal was requested. */
  #renewedAt = performance.now();
  /** Since when every renewal succeeded. */
  #steadySince = performance.now();
  #deadline: NodeJS.Timeout | null = null;
  #isLost = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** For how long the lease has been renewed without a failure. */
  get steadyMs(): number {
    return performance.now() - this.#steadySince;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  start(): void {
    const { membership } = this.#options;
    const stop = membership.onFenced(() => this.lose("another node has taken over its work"));
    this.#stop.signal.addEventListener("abort", stop, { once: true });
    this.#arm();
    void this.#keep();
  }

  stop(): void {
    this.#stop.abort();
    if (this.#deadline !== null) clearTimeout(this.#deadline);
  }

  async #keep(): Promise<void> {
    const { membership, leaseMs, clock, log } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const requested = performance.now();
      let pause = leaseMs / 3;
      try {
        if (!(await membership.renew())) return this.lose("another node has taken over its work");
        if (requested - this.#renewedAt > (leaseMs * 2) / 3) this.#steadySince = requested;
        this.#renewedAt = requested;
        this.#arm();
      } catch (error) {
        if (signal.aborted) return;
        this.#steadySince = performance.now();
        pause = Math.min(leaseMs / 10, longestRetryMs);
        log.warn("the lease of this node could not be renewed; trying again", { error: errorText(error) });
      }
      await clock.sleep(pause, signal).catch(() => {});
    }
  }

  #arm(): void {
    const { leaseMs } = this.#options;
    if (this.#deadline !== null) clearTimeout(this.#deadline);
    const left = this.#renewedAt + (leaseMs * 2) / 3 - performance.now();
    this.#deadline = setTimeout(
      () => this.lose(`its lease could not be renewed for ${Math.round((leaseMs * 2) / 3_000)} s`),
      Math.max(0, left),
    );
    this.#deadline.unref();
  }

  /** The node ends its work and must not write any more, as if its lease had ended. */
  lose(reason: string): void {
    if (this.#isLost || this.#stop.signal.aborted) return;
    this.#isLost = true;
    this.#options.membership.fence();
    this.stop();
    this.#options.onLost(reason);
  }
}
