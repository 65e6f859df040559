/** Messages for the turn under way, on drivers that run it themselves: taken in between two steps, or given back at its end. */
import type { Addition } from "./driver.ts";

type Arrival = { message: Addition; resolve: (taken: boolean) => void };

export class Arrivals {
  #waiting: Arrival[] = [];
  #isOpen = false;

  open(): void {
    this.#isOpen = true;
  }

  /** Resolves true when the message is part of the conversation, false when the turn ended first. */
  add(message: Addition): Promise<boolean> {
    if (!this.#isOpen) return Promise.resolve(false);
    return new Promise((resolve) => this.#waiting.push({ message, resolve }));
  }

  /** Those that wait, oldest first. Tell each that it was taken once it is on record. */
  take(): Arrival[] {
    return this.#waiting.splice(0);
  }

  /** True when nobody waits: from then on none is taken in any more. */
  closeIfEmpty(): boolean {
    if (this.#waiting.length > 0) return false;
    this.close();
    return true;
  }

  close(): void {
    this.#isOpen = false;
    for (const { resolve } of this.take()) resolve(false);
  }
}
