/** Ctrl-C ends the rounds; what they did is still counted. Pressed once more, it ends the run at once. */
import { say } from "./report.ts";

/** `npm run` passes a signal on that the terminal has sent as well. */
const sameRequestMs = 1_000;

export class StoppedError extends Error {}

export type Stop = {
  /** Aborts when no further round shall begin. */
  rounds: AbortSignal;
  /** Rejects with a `StoppedError` when the run must end at once. What started the work must end it then. */
  orNow<T>(work: Promise<T>): Promise<T>;
};

/** For the life of this process. */
export function listenForStop(): Stop {
  const rounds = new AbortController();
  const now = Promise.withResolvers<never>();
  now.promise.catch(() => {});
  let first: number | null = null;
  process.on("SIGINT", () => {
    if (first !== null && performance.now() - first < sameRequestMs) return;
    if (first !== null) now.reject(new StoppedError("stopped"));
    else say("  stopping: checks what was done. Ctrl-C ends the run at once");
    first ??= performance.now();
    rounds.abort();
  });
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => now.reject(new StoppedError(signal)));
  return { rounds: rounds.signal, orNow: (work) => Promise.race([work, now.promise]) };
}
