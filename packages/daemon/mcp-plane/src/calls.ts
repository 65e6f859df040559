/** The open calls of one credential, by the request id of their client, so that a client can cancel one. */

type Id = string | number;

export class Calls {
  readonly #running = new Map<Id, Set<AbortController>>();
  readonly #now: () => number;
  #answeredAt = 0;
  #closed: Error | null = null;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The number of open calls, and when the last one ended. */
  get state(): { open: number; answeredAt: number } {
    let open = 0;
    for (const same of this.#running.values()) open += same.size;
    return { open, answeredAt: this.#answeredAt };
  }

  /**
   * Returns a signal that aborts when the call is cancelled, its client leaves or the credential is revoked, and a
   * function to unregister the call.
   */
  begin(id: Id, client: AbortSignal): { signal: AbortSignal; end: () => void } {
    const controller = new AbortController();
    // `AbortSignal.any` would leak for as long as the longest-lived signal.
    const leave = () => controller.abort(client.reason);
    if (this.#closed !== null) controller.abort(this.#closed);
    else if (client.aborted) leave();
    else client.addEventListener("abort", leave, { once: true });
    const same = this.#running.get(id) ?? new Set();
    this.#running.set(id, same.add(controller));
    return {
      signal: controller.signal,
      end: () => {
        client.removeEventListener("abort", leave);
        if (same.delete(controller)) this.#answeredAt = this.#now();
        if (same.size === 0) this.#running.delete(id);
      },
    };
  }

  /** Ends all calls, and those that begin later. */
  close(reason: Error): void {
    this.#closed = reason;
    for (const same of this.#running.values()) for (const call of same) call.abort(reason);
  }

  /**
   * Returns false if there is no such call. A harness may have several clients that use the same request ids; an
   * ambiguous id cancels nothing.
   */
  cancel(id: Id, reason: string): boolean {
    const [call, other] = this.#running.get(id) ?? [];
    if (call === undefined || other !== undefined) return false;
    call.abort(new Error(reason));
    return true;
  }
}
