/**
 * The context of a workflow whose body runs in this worker. Each method is a request to the daemon, which records the
 * run. Functions that the body passes stay here and run on the daemon's request.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { inspect } from "node:util";
import { checkJson } from "@aegis/lib/strict-json.ts";
import type { PredicateOptions, WorkflowContext } from "@aegis/plugin-api/workflow-context.ts";
import type { CallOutcome, FromWorker, RunAbout, ToWorker } from "../protocol.ts";
import { fromWire, toWire } from "../wire-error.ts";

type Work = (value: unknown) => unknown;
type Request = {
  call: number;
  /** The name of the result in messages. */
  result: string;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  work: Work | null;
};

/** Methods that only forward their arguments. */
export const plainMethods = [
  ...(["spawn", "send", "drain", "close", "delegate", "enqueue", "askHuman", "bash", "checkpoint"] as const),
  ...(["resumeState", "sleep", "spawnGroup", "broadcast", "waitAll", "waitAny"] as const),
] as const satisfies readonly (keyof WorkflowContext)[];

export class WorkflowContexts {
  readonly #post: (message: FromWorker) => void;
  readonly #requests = new Map<number, Request>();
  readonly #branch = new AsyncLocalStorage<string>();
  /** Call and branch → the controller of its signal. */
  readonly #signals = new Map<number, Map<string, AbortController>>();
  #last = 0;

  constructor(post: (message: FromWorker) => void) {
    this.#post = post;
  }

  open(call: number, about: RunAbout): WorkflowContext {
    this.#signals.set(call, new Map());
    const ask = (method: string, args: unknown[], work: Work | null = null) => this.#ask(call, method, args, work);
    const plain = Object.fromEntries(
      plainMethods.map((method) => [method, (...args: unknown[]) => ask(method, args)]),
    ) as unknown as Pick<WorkflowContext, (typeof plainMethods)[number]>;
    const signal = () => this.#signal(call, this.#branch.getStore() ?? "").signal;
    return {
      ...about,
      ...plain,
      get signal() {
        return signal();
      },
      parallel: (branches) => this.#parallel(call, branches),
      log: (record) => {
        const text = typeof record === "string" ? record : inspect(record, { depth: 6, breakLength: 120 });
        this.#send(call, "log", [text]);
      },
      step: (name, work, options = {}) => ask("step", [name, options], () => work()) as never,
      bashPredicate: (command, { retryWith, ...options }: PredicateOptions) =>
        (typeof retryWith === "function"
          ? ask("bashPredicate", [command, options], (result) => retryWith(result as never))
          : ask("bashPredicate", [command, { ...options, retryWith }])) as never,
    };
  }

  /** Sends one request of a call that is not a run. */
  ask(call: number, method: string, args: unknown[]): Promise<unknown> {
    return this.#ask(call, method, args, null);
  }

  answered(id: number, outcome: CallOutcome): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    this.#requests.delete(id);
    if (outcome.ok) request.resolve(outcome.value);
    else request.reject(fromWire(outcome.error));
  }

  async perform({ id, request, value }: Extract<ToWorker, { type: "perform" }>): Promise<void> {
    const { work = null, result = "" } = this.#requests.get(request) ?? {};
    if (work === null) return;
    let done: unknown;
    try {
      done = await work(value);
      this.#post({ type: "performed", id, outcome: { ok: true, value: done } });
    } catch (error) {
      this.#post({ type: "performed", id, outcome: { ok: false, error: toWire(notJson(error, done, result)) } });
    }
  }

  cut(call: number, branch: string, reason: Error): void {
    if (this.#signals.has(call)) this.#signal(call, branch).abort(reason);
  }

  cancel(call: number, reason: Error): void {
    for (const controller of this.#signals.get(call)?.values() ?? []) controller.abort(reason);
    this.forget(call);
  }

  /** The run is over here: its pending requests are never answered. */
  forget(call: number): void {
    this.#signals.delete(call);
    for (const [id, request] of this.#requests) if (request.call === call) this.#requests.delete(id);
  }

  #ask(call: number, method: string, args: unknown[], work: Work | null): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    // A step whose promise the body ignores must not crash the worker with an unhandled rejection.
    promise.catch(() => {});
    try {
      // A copy would hide values that are not JSON, such as class instances.
      if (method === "checkpoint" && args[1] !== undefined) checkJson(args[1], payloadOf(args[0]));
      const id = this.#send(call, method, args);
      const result = `the result of "${String(args[0])}"`;
      this.#requests.set(id, { call, result, resolve, reject, work: work === null ? null : this.#inBranch(work) });
    } catch (error) {
      if (method === "checkpoint") reject(notJson(error, args[1], payloadOf(args[0])));
      else reject(notJson(error, args, `what ${method} is given`));
    }
    return promise;
  }

  #send(call: number, method: string, args: unknown[]): number {
    this.#last += 1;
    const id = this.#last;
    this.#post({ type: "request", id, call, branch: this.#branch.getStore() ?? "", method, args });
    return id;
  }

  /** Branches start here immediately, after the daemon was notified, so that their requests keep their order. */
  async #parallel<T>(call: number, branches: readonly ((() => Promise<T>) | Promise<T>)[]): Promise<T[]> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const id = this.#send(call, "parallel", [branches.length]);
    this.#requests.set(id, { call, result: "", resolve, reject, work: null });
    const results: T[] = [];
    const failures: unknown[] = [];
    for (const [index, branch] of branches.entries()) {
      const name = `${id}.${index}`;
      const run = async () => (typeof branch === "function" ? branch() : branch);
      this.#branch.run(name, run).then(
        (value) => {
          results[index] = value;
          this.#post({ type: "branch", request: id, index, outcome: { ok: true, value: null } });
        },
        (error: unknown) => {
          failures.push(error);
          this.#post({ type: "branch", request: id, index, outcome: { ok: false, error: toWire(error) } });
        },
      );
    }
    try {
      await promise;
      return results;
    } catch (error) {
      // Rethrows the error that the branch threw, not its serialized copy.
      throw failures[0] ?? error;
    }
  }

  #inBranch(work: Work): Work {
    const branch = this.#branch.getStore() ?? "";
    return (value) => this.#branch.run(branch, () => work(value));
  }

  #signal(call: number, branch: string): AbortController {
    const ofCall = this.#signals.get(call) ?? new Map<string, AbortController>();
    this.#signals.set(call, ofCall);
    const known = ofCall.get(branch) ?? new AbortController();
    ofCall.set(branch, known);
    return known;
  }
}

function payloadOf(checkpoint: unknown): string {
  return `the payload of checkpoint "${String(checkpoint)}"`;
}

/** Threads refuse values that cannot be copied, such as functions; the error names the value that is not JSON. */
function notJson(error: unknown, value: unknown, what: string): unknown {
  if (!(error instanceof Error) || error.name !== "DataCloneError") return error;
  try {
    checkJson(value, what);
  } catch (found) {
    return found;
  }
  return new TypeError(`${what} is not JSON: ${error.message}`);
}
