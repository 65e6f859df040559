/** Detects a harness that is silent while an answer is due. */
import type { Clock } from "@aegis/lib/clock.ts";
import type { PlaneAddress } from "../driver.ts";

/**
 * What a turn waits for besides the harness itself: running tools, asks, and plane calls, which not every harness
 * reports.
 */
export class Waits {
  readonly #clock: Clock;
  readonly #plane: Pick<PlaneAddress, "calls"> | null;
  readonly #open = new Set<string>();
  #changed: number;

  constructor(clock: Clock, plane: Pick<PlaneAddress, "calls"> | null) {
    this.#clock = clock;
    this.#plane = plane;
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

  /** Since when an answer has been due; now, if the turn still waits for something else. */
  owedSince(): number {
    const { open, answeredAt } = this.#plane?.calls() ?? { open: 0, answeredAt: 0 };
    return this.#open.size + open > 0 ? this.#clock.now() : Math.max(this.#changed, answeredAt);
  }
}

/** Resolves to true once the harness was silent for `limitMs`, false if the signal aborts. */
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
