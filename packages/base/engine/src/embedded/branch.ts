/** A branch of a run: counts its own steps and can be stopped independently of the others. */
import { RunCancelled } from "../engine.ts";

export class Branch {
  /** Identifies the branch within its run: `0.1` is the second branch of the first `parallel`. */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #counts = new Map<string, number>();

  constructor(path: string, parent: AbortSignal | null) {
    this.path = path;
    this.signal = parent === null ? this.#controller.signal : AbortSignal.any([parent, this.#controller.signal]);
  }

  /** If true, the branch's open and later requests are never answered. */
  get over(): boolean {
    return this.signal.aborted;
  }

  get isBranch(): boolean {
    return this.path !== "";
  }

  cut(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** Returns how often this was counted before in this branch. */
  count(what: string): number {
    const before = this.#counts.get(what) ?? 0;
    this.#counts.set(what, before + 1);
    return before;
  }

  child(name: string): Branch {
    return new Branch(this.path === "" ? name : `${this.path}/${name}`, this.signal);
  }
}

/** Runs branches in parallel: starts them in order, joins them in order, and stops all when one of them fails. */
export function branches<T>(
  list: readonly (() => Promise<T>)[],
  scopes: readonly Branch[],
  run: (scope: Branch, branch: () => Promise<T>) => Promise<T>,
): Promise<T[]> {
  if (list.length === 0) return Promise.resolve([]);
  return new Promise((resolve, reject) => {
    const results: T[] = [];
    let open = list.length;
    const fail = (error: unknown) => {
      for (const scope of scopes) scope.cut(new RunCancelled("another branch failed"));
      reject(error);
    };
    for (const [index, branch] of list.entries()) {
      const scope = scopes[index];
      if (scope === undefined) continue;
      // An async wrapper, so that a branch that throws synchronously fails like any other.
      run(scope, async () => branch()).then((value) => {
        results[index] = value;
        open -= 1;
        if (open === 0) resolve(results);
      }, fail);
    }
  });
}
