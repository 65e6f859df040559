/**
 * The running calls to a plugin's worker. Each call has a deadline that does not depend on the worker, and settles
 * once.
 */
import { AegisError } from "@aegis/contract/errors.ts";
import type { CallOutcome, FromWorker, ToWorker, WorkerCall } from "../protocol.ts";
import { fromWire, toWire } from "../wire-error.ts";
import type { PluginGone } from "./errors.ts";

export type CallOptions = {
  /** Null for a call without a deadline. */
  timeoutMs: number | null;
  signal?: AbortSignal;
  /** Names the call in the timeout message. */
  what: string;
  onRequest?: (request: WorkerRequest) => void;
  /** Answers the requests of the call. Its errors go to the plugin. */
  serve?: (method: string, args: readonly unknown[]) => Promise<unknown>;
  /** It may last as long as the worker: the worker does not count as busy because of it. */
  background?: boolean;
  /** Receives the results of a run's branches. */
  onBranch?: (request: number, index: number, outcome: CallOutcome) => void;
};

export type WorkerRequest = Extract<FromWorker, { type: "request" }>;

export type OpenCallsOptions = {
  post: (message: ToWorker) => void;
  /** A caller starts to wait for the worker. */
  onBegin: () => void;
  /** A caller stopped waiting. */
  onGiveUp: () => void;
};

type Call = CallOptions & { resolve(value: unknown): void; reject(error: unknown): void; end(): void };

export class OpenCalls {
  readonly #options: OpenCallsOptions;
  readonly #calls = new Map<number, Call>();
  readonly #performs = new Map<number, PromiseWithResolvers<unknown>>();
  /** Requests that started branches → their call. */
  readonly #requests = new Map<number, number>();
  #gone: PluginGone | null = null;
  #last = 0;

  constructor(options: OpenCallsOptions) {
    this.#options = options;
  }

  /** The number of running calls that a caller waits for. */
  get count(): number {
    let count = 0;
    for (const { background = false } of this.#calls.values()) if (!background) count += 1;
    return count;
  }

  /** The number of run steps being performed, including those of released runs. */
  get performing(): number {
    return this.#performs.size;
  }

  /** Rejects with what the plugin threw, `timeout`, the signal's reason, or `PluginGone`. */
  begin(call: WorkerCall, options: CallOptions): { id: number; result: Promise<unknown> } {
    const id = this.#nextId();
    return { id, result: this.#begin(id, call, options) };
  }

  /** Runs the function that came with a request. */
  perform(request: number, value: unknown): Promise<unknown> {
    if (this.#gone !== null) return Promise.reject(this.#gone);
    const performing = Promise.withResolvers<unknown>();
    const id = this.#nextId();
    this.#performs.set(id, performing);
    this.#options.post({ type: "perform", id, request, value });
    return performing.promise;
  }

  answer(request: number, outcome: CallOutcome): void {
    this.#requests.delete(request);
    this.#options.post({ type: "answer", id: request, outcome });
  }

  take(message: Extract<FromWorker, { type: "done" | "request" | "performed" | "branch" }>): void {
    switch (message.type) {
      case "done":
        this.#settle(message.id, message.outcome);
        break;
      case "request":
        this.#requests.set(message.id, message.call);
        this.#calls.get(message.call)?.onRequest?.(message);
        void this.#serve(message, this.#calls.get(message.call)?.serve);
        break;
      case "performed":
        this.#performed(message.id, message.outcome);
        break;
      case "branch": {
        const call = this.#calls.get(this.#requests.get(message.request) ?? -1);
        call?.onBranch?.(message.request, message.index, message.outcome);
        break;
      }
    }
  }

  /** Fails all running and future calls. */
  fail(gone: PluginGone): void {
    this.#gone = gone;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) {
      call.end();
      call.reject(gone);
    }
    for (const performing of this.#performs.values()) performing.reject(gone);
    this.#performs.clear();
  }

  async #serve({ id, method, args }: WorkerRequest, serve: CallOptions["serve"]): Promise<void> {
    if (serve === undefined) return;
    const outcome = await serve(method, args).then(
      (value): CallOutcome => ({ ok: true, value }),
      (error: unknown): CallOutcome => ({ ok: false, error: toWire(error) }),
    );
    this.answer(id, outcome);
  }

  #nextId(): number {
    this.#last += 1;
    return this.#last;
  }

  #begin(id: number, call: WorkerCall, options: CallOptions): Promise<unknown> {
    if (this.#gone !== null) return Promise.reject(this.#gone);
    const { signal, timeoutMs, what } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const onAbort = () => this.#giveUp(id, signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const late = () =>
      this.#giveUp(id, new AegisError("timeout", `${what} gave no answer within ${(timeoutMs ?? 0) / 1000} s`));
    const timer = timeoutMs === null ? null : setTimeout(late, timeoutMs);
    const end = () => {
      if (timer !== null) clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    this.#calls.set(id, { ...options, resolve, reject, end });
    this.#options.post({ type: "call", id, call });
    this.#options.onBegin();
    return promise;
  }

  #settle(id: number, outcome: CallOutcome): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    for (const [request, owner] of this.#requests) if (owner === id) this.#requests.delete(request);
    call.end();
    if (outcome.ok) call.resolve(outcome.value);
    else call.reject(fromWire(outcome.error));
  }

  #performed(id: number, outcome: CallOutcome): void {
    const performing = this.#performs.get(id);
    this.#performs.delete(id);
    if (outcome.ok) performing?.resolve(outcome.value);
    else performing?.reject(fromWire(outcome.error));
  }

  #giveUp(id: number, reason: unknown): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    call.end();
    this.#options.post({ type: "cancel", id, reason: reason instanceof Error ? reason.message : String(reason) });
    call.reject(reason);
    this.#options.onGiveUp();
  }
}
