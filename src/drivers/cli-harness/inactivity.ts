/** Notices a harness that went silent while it owed an answer. */
import type { Clock } from "../../lib/clock.ts";

/** What a turn waits for that is not the harness itself: tools at work, people asked. */
export class Waits {
  readonly #clock: Clock;
  readonly #open = new Set<string>();
  #changed: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#changed = clock.now();
  }

  begin(what: string): void {
    this.#open.add(what);
  }

  end(what: string): void {
    if (this.#open.delete(what)) this.#changed = this.#clock.now();
  }

  clear(): void {
    for (const what of [...this.#open]) this.end(what);
  }

  /** From when on the harness owes an answer: now, while something is still waited for. */
  owedSince(): number {
    return this.#open.size > 0 ? this.#clock.now() : this.#changed;
  }
}

/** Resolves true once the harness was silent for `limitMs`, false when the signal ends the watch. */
export async function silentFor(
  limitMs: number,
  lastActivity: () => number,
  waits: Waits,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  const began = clock.now();
  while (!signal.aborted) {
    const idle = clock.now() - Math.max(began, waits.owedSince(), lastActivity());
    if (idle >= limitMs) return true;
    try {
      await clock.sleep(limitMs - idle, signal);
    } catch {
      return false;
    }
  }
  return false;
}
