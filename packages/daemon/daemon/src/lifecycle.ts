/** Starts and stops the parts of a daemon. Every part names its steps, and one array defines their order. */
import { aborted } from "@aegis/lib/until-aborted.ts";

/** A part of the daemon that works on its own. All steps are optional. */
export type Part = {
  name: string;
  /** Ends or resumes the work that an earlier daemon left unfinished. No turn starts yet. */
  recover?(): unknown;
  /** Starts work. The parts of plugins are registered and the API answers. */
  start?(): unknown;
  /** Starts nothing new and lets running work finish until the deadline. */
  stop?(deadline: AbortSignal): unknown;
  /** Writes the results of work that ended while the parts stopped. */
  settle?(deadline: AbortSignal): unknown;
};

/** Parts recover and start in their order, and stop and settle in the reverse order. */
export class Lifecycle {
  readonly #parts: readonly Part[];
  #stopping: Promise<void> | null = null;

  constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  async recover(): Promise<void> {
    for (const part of this.#parts) await part.recover?.();
  }

  async start(): Promise<void> {
    for (const part of this.#parts) await part.start?.();
  }

  /**
   * Work that is still running at the deadline is left as after a crash; the next start recovers it. A part that fails
   * does not keep the others running: its error is thrown when all of them have stopped. Stops only once.
   */
  stop(deadline: AbortSignal): Promise<void> {
    this.#stopping ??= this.#stop(deadline);
    return this.#stopping;
  }

  async #stop(deadline: AbortSignal): Promise<void> {
    const errors: unknown[] = [];
    const attempt = async (step: () => unknown) => {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    };
    for (const part of this.#parts.toReversed()) await attempt(() => part.stop?.(deadline));
    for (const part of this.#parts.toReversed()) await attempt(() => part.settle?.(deadline));
    if (errors.length > 0) throw errors[0];
  }
}

/** Waits for the promise, at most until the deadline. */
export async function before(promise: Promise<unknown>, deadline: AbortSignal): Promise<void> {
  await Promise.race([promise, aborted(deadline)]);
}
