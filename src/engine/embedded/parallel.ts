/** Parallel branches: started in order, joined in order, and stopped when one of them fails. */
import { RunCancelled } from "../engine.ts";
import type { Branch } from "./branch.ts";

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
