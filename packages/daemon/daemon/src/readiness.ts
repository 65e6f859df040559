/** Tells requests that need plugins when all parts of plugins are registered. */
import { AegisError } from "@aegis/contract/errors.ts";

export class Readiness {
  readonly #settled = Promise.withResolvers<void>();
  isReached = false;
  /** Rejects with `unavailable` if the daemon stops first. */
  readonly reached = this.#settled.promise;

  constructor() {
    this.reached.catch(() => {});
  }

  reach(): void {
    this.isReached = true;
    this.#settled.resolve();
  }

  /** Has no effect after `reach`. */
  refuse(): void {
    this.#settled.reject(new AegisError("unavailable", "the daemon stopped before its plugins were loaded"));
  }
}
