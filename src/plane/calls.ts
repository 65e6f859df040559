/** The open calls of one credential, by the request id of their client, so that a client can cancel one. */

type Id = string | number;

export class Calls {
  readonly #running = new Map<Id, Set<AbortController>>();
  readonly #now: () => number;
  #answeredAt = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The number of open calls, and when the last one ended. */
  get state(): { open: number; answeredAt: number } {
    let open = 0;
    for (const same of this.#running.values()) open += same.size;
    return { open, answeredAt: this.#answeredAt };
  }

  /** Returns a signal that aborts when the call is cancelled, and a function to unregister the call. */
  begin(id: Id): { signal: AbortSignal; end: () => void } {
    const controller = new AbortController();
    const same = this.#running.get(id) ?? new Set();
    this.#running.set(id, same.add(controller));
    return {
      signal: controller.signal,
      end: () => {
        if (same.delete(controller)) this.#answeredAt = this.#now();
        if (same.size === 0) this.#running.delete(id);
      },
    };
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
