/** A sleep in a loop that can be ended early. A wake between two sleeps is not lost. */
import type { Clock } from "@aegis/lib/clock.ts";
import { aborted } from "@aegis/lib/until-aborted.ts";

export class Wake {
  readonly #clock: Clock;
  #pending = false;
  #sleeping: AbortController | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#pending = true;
    this.#sleeping?.abort();
  }

  /** Forgets earlier wakes. Call it before looking for work. */
  clear(): void {
    this.#pending = false;
  }

  /** Resolves after `ms` (null: never), at the next wake, or when the signal aborts. Never rejects. */
  async sleep(ms: number | null, signal: AbortSignal): Promise<void> {
    if (this.#pending || signal.aborted) return;
    const end = new AbortController();
    this.#sleeping = end;
    const any = AbortSignal.any([end.signal, signal]);
    if (ms === null) await aborted(any);
    else await this.#clock.sleep(ms, any).catch(() => {});
    this.#sleeping = null;
  }
}
