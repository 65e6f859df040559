/** Requests to stop: the first lets turns finish up to a deadline, the second does not wait. */
import type { Logger } from "../lib/log.ts";

export class StopSignals {
  readonly #forced = new AbortController();
  readonly #requested = Promise.withResolvers<string>();
  readonly #log: Logger;
  #isRequested = false;

  constructor(scope: AsyncDisposableStack, log: Logger) {
    this.#log = log;
    for (const name of ["SIGTERM", "SIGINT"] as const) {
      const listener = () => this.request(this.#isRequested ? "force" : "drain", name);
      process.on(name, listener);
      scope.defer(() => void process.off(name, listener));
    }
  }

  /** Resolves with the reason of the first request. */
  get requested(): Promise<string> {
    return this.#requested.promise;
  }

  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** Aborts when nothing may be waited for any more. */
  get forced(): AbortSignal {
    return this.#forced.signal;
  }

  request(how: "drain" | "force", reason: string): void {
    this.#log.info("asked to stop", { how, reason });
    this.#isRequested = true;
    this.#requested.resolve(reason);
    if (how === "force") this.#forced.abort(new Error(`stopped: ${reason}`));
  }
}
