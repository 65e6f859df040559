/** Messages for the current turn of an in-process driver: added between two steps, or returned when the turn ends. */
import type { Addition } from "./driver.ts";

type Arrival = { message: Addition; resolve: (taken: boolean) => void };

export class Arrivals {
  #waiting: Arrival[] = [];
  #isOpen = false;

  open(): void {
    this.#isOpen = true;
  }

  /** Resolves to true once the message is part of the conversation, false if the turn ends first. */
  add(message: Addition): Promise<boolean> {
    if (!this.#isOpen) return Promise.resolve(false);
    return new Promise((resolve) => this.#waiting.push({ message, resolve }));
  }

  /** The waiting messages, oldest first. The caller must confirm each one after it is stored. */
  take(): Arrival[] {
    return this.#waiting.splice(0);
  }

  /** Returns true if no message waits; after that no message is accepted. */
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
