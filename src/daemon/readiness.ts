/** Tells requests that need plugins when all parts of plugins are registered. */
import { AegisError } from "../contract/errors.ts";

export class Readiness {
  readonly #settled = Promise.withResolvers<void>();
  #isReached = false;

  constructor() {
    this.reached.catch(() => {});
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  /** Rejects with `unavailable` if the daemon stops first. */
  get reached(): Promise<void> {
    return this.#settled.promise;
  }

  reach(): void {
    this.#isReached = true;
    this.#settled.resolve();
  }

  /** Has no effect after `reach`. */
  refuse(): void {
    this.#settled.reject(new AegisError("unavailable", "the daemon stopped before its plugins were loaded"));
  }
}
