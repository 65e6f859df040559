/** Handles stop requests: the first lets turns finish until a deadline, the second stops immediately. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Logger } from "@aegis/lib/log.ts";

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
    // Without a listener, Node opens a debugger on this signal, through which any user of the machine can run code
    // here.
    const ignore = () => log.warn("SIGUSR1 is ignored: no debugger is opened");
    process.on("SIGUSR1", ignore);
    scope.defer(() => void process.off("SIGUSR1", ignore));
  }

  /** Resolves with the reason of the first request. */
  get requested(): Promise<string> {
    return this.#requested.promise;
  }

  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** Aborts when the daemon must stop waiting for anything. */
  get forced(): AbortSignal {
    return this.#forced.signal;
  }

  request(how: "drain" | "force", reason: string): void {
    this.#log.info("asked to stop", { how, reason });
    this.#isRequested = true;
    this.#requested.resolve(reason);
    if (how === "force") this.#forced.abort(new AegisError("unavailable", `stopped: ${reason}`));
  }
}
