/** Combines promises with abort signals. */

/** Calls `act` when the signal aborts, immediately if it has. Returns a function that releases the signal. */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act();
  else signal.addEventListener("abort", act, { once: true });
  return () => signal.removeEventListener("abort", act);
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve));
}

/**
 * Resolves with the promise's value, or rejects with the signal's reason if it aborts first. The work behind the
 * promise continues.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const release = onAbort(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(release);
  });
}

/** Resolves with the promise's value, or with `aborted` as soon as the signal aborts. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | "aborted"> {
  return new Promise((resolve, reject) => {
    const release = onAbort(signal, () => resolve("aborted"));
    promise.then(resolve, reject).finally(release);
  });
}
