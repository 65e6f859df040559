/**
 * One timer for all schedules. The system clock may be changed while it waits, so it checks the clock at a short
 * interval.
 */
import { once } from "node:events";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";

export type ScheduleTimerOptions = {
  clock: Clock;
  log: Logger;
  /** Runs what is due. Returns the next due time; null if there is none. */
  work: () => Promise<number | null>;
};

/** The interval at which changes of the clock are noticed. */
export const lookEveryMs = 60_000;
/** The shortest wait, so that work that is due again immediately does not cause a busy loop. */
const leastMs = 20;
/** The delay before a failed write is retried. */
const retryMs = 5_000;
/** A smaller difference is a delay of a busy machine, not a change of the clock. */
const jumpMs = 5_000;

export class ScheduleTimer {
  readonly #options: ScheduleTimerOptions;
  readonly #stop = new AbortController();
  #alarm = new AbortController();
  #running: Promise<void> | null = null;

  constructor(options: ScheduleTimerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Called when something may be due earlier than planned. */
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
      log.error("schedules could not be processed; trying again", { error: errorText(error) });
      return clock.now() + retryMs;
    }
  }

  /** Waits until something is due, `nudge` is called, or the clock must be checked. */
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
    const how = ms > 0 ? "the clock advanced without Aegis, or was set forward" : "the clock was set back";
    this.#options.log.warn(how, { by_seconds: Math.round(Math.abs(ms) / 1_000) });
  }
}
