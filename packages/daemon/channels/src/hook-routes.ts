/**
 * The paths of incoming webhooks. They are served as soon as the daemon listens. A request that arrives before its channel
 * has started waits for it, because many senders do not send again; if that takes too long, or the daemon is stopping,
 * the answer tells the sender to come back. Only a request that can never be accepted is refused.
 */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Clock } from "@aegis/lib/clock.ts";

/** `bytes` reads the body; it throws if the body is longer than the limit. */
type HookRequest = { method: string; headers: Headers; bytes: (maxBytes: number) => Promise<Uint8Array> };
export type HookHandler = (request: HookRequest) => Promise<Response>;
/** Returns its undo. */
export type ServeHook = (name: string, handler: HookHandler) => () => void;

export type HookRoutesOptions = {
  clock: Clock;
  /** Resolves when the channels have started or will not start. */
  started: () => Promise<void>;
  /** The hooks that are configured and trusted now. */
  names: () => readonly string[];
};

/** GitHub waits 10 seconds for an answer. */
const longestWaitMs = 8_000;
const retrySeconds = 10;

export class HookRoutes {
  readonly #options: HookRoutesOptions;
  readonly #handlers = new Map<string, HookHandler>();
  readonly #served = new Set<string>();
  #mount: ServeHook | null = null;

  constructor(options: HookRoutesOptions) {
    this.#options = options;
  }

  /** Serves the configured hooks with `mount`, and later each hook that is added. */
  open(mount: ServeHook): void {
    this.#mount = mount;
    for (const name of this.#options.names()) this.#serve(name);
  }

  readonly add: ServeHook = (name, handler) => {
    this.#handlers.set(name, handler);
    this.#serve(name);
    return () => {
      if (this.#handlers.get(name) === handler) this.#handlers.delete(name);
    };
  };

  #serve(name: string): void {
    if (this.#mount === null || this.#served.has(name)) return;
    this.#served.add(name);
    this.#mount(name, async (request) => {
      if (!this.#handlers.has(name)) await this.#startedInTime();
      const handler = this.#handlers.get(name);
      if (handler !== undefined) return handler(request);
      if (!this.#options.names().includes(name)) throw notAccepted();
      // It starts, it stops, or its secret is missing.
      return comeBack(new AegisError("unavailable", "the hook cannot accept requests now"), retrySeconds);
    });
  }

  async #startedInTime(): Promise<void> {
    const { clock, started } = this.#options;
    const over = new AbortController();
    await Promise.race([started(), clock.sleep(longestWaitMs, over.signal).catch(() => {})]);
    over.abort();
  }
}

/** One answer for every reason, so that it tells a stranger nothing. */
export function notAccepted(): AegisError {
  return new AegisError("unauthorized", "the request is not accepted");
}

/** An answer that makes the sender try again. */
export function comeBack(error: AegisError, seconds: number): Response {
  return Response.json(error.toBody(), { status: error.status, headers: { "retry-after": String(seconds) } });
}
