/** Colours code in a worker. Answers null for a language that the worker does not know. */

import type { Piece } from "../model/syntax.ts";
import workerUrl from "./colour-worker.ts?worker&url";

/** The page's policy lets no string become the address of a script, except through this policy, which knows one. */
function trusted(address: string): string {
  const policy = window.trustedTypes?.createPolicy("aegis-worker", { createScriptURL: () => address });
  return policy?.createScriptURL("") ?? address;
}

let worker: Worker | null = null;
let last = 0;
const waiting = new Map<number, (pieces: readonly Piece[] | null) => void>();

export function colour(code: string, language: string): Promise<readonly Piece[] | null> {
  if (worker === null) {
    worker = new Worker(trusted(workerUrl), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<{ id: number; pieces: readonly Piece[] | null }>) => {
      waiting.get(data.id)?.(data.pieces);
      waiting.delete(data.id);
    });
  }
  last += 1;
  const id = last;
  const { promise, resolve } = Promise.withResolvers<readonly Piece[] | null>();
  waiting.set(id, resolve);
  worker.postMessage({ id, code, language });
  return promise;
}
