/**
 * One timer for everything that is due. The clock on the wall may be set while it waits, so it never waits long without
 * looking at it.
 */
import { once } from "node:events";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";

export type ClockworkOptions = {
  clock: Clock;
  log: Logger;
  /** Does what is due, and gives when something is due next; null when nothing will be. */
  work: () => Promise<number | null>;
};

/** How soon a clock that was set is noticed. */
export const lookEveryMs = 60_000;
/** Whatever is due again at once must not keep the machine busy. */
const leastMs = 20;
/** A store that cannot write is tried again after this. */
const retryMs = 5_000;
/** Less than this is a busy machine, not a clock that was set. */
const jumpMs = 5_000;

export class Clockwork {
  readonly #options: ClockworkOptions;
  readonly #stop = new AbortController();
  #alarm = new AbortController();
  #running: Promise<void> | null = null;

  constructor(options: ClockworkOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Something may be due earlier than was known. */
  nudge(): void {
    this.#alarm.abort();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.nudge();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#alarm = new AbortController();
      const next = await this.#work();
      await this.#wait(next);
    }
  }

  async #work(): Promise<number | null> {
    const { clock, log, work } = this.#options;
    try {
      return await work();
    } catch (error) {
      log.error("schedules could not be looked after; trying again", { error: errorText(error) });
      return clock.now() + retryMs;
    }
  }

  /** Until something is due, somebody nudges, or it is time to look at the clock. */
  async #wait(next: number | null): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#alarm;
    if (signal.aborted) return;
    if (next === null) {
      await once(signal, "abort");
      return;
    }
    const began = clock.now();
    const wanted = Math.min(Math.max(next - began, leastMs), lookEveryMs);
    try {
      await clock.sleep(wanted, signal);
    } catch {
      return;
    }
    this.#noticeJump(clock.now() - began - wanted);
  }

  #noticeJump(ms: number): void {
    if (Math.abs(ms) < jumpMs) return;
    const how = ms > 0 ? "the clock went on without Aegis, or was set forward" : "the clock was set back";
    this.#options.log.warn(how, { by_seconds: Math.round(Math.abs(ms) / 1_000) });
  }
}
