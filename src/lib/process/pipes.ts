/** Reads pipes that an unrelated process may keep open forever. */
import type { Readable } from "node:stream";

/** How long bytes written just before the end may take to arrive; they are already in the pipe. */
const quietMs = 200;

/**
 * Yields the chunks of a pipe to one reader. Ends with the pipe, or when its writers are gone and no more data arrives.
 * If the reader stops early, the rest is discarded, so that the writer never blocks.
 */
export async function* readUntilGone(
  pipe: Readable,
  gone: Promise<void>,
  onChunk: () => void,
): AsyncGenerator<Uint8Array> {
  let isGone = false;
  let wake = () => {};
  const onEvent = () => wake();
  const events = ["readable", "end", "close", "error"] as const;
  for (const event of events) pipe.on(event, onEvent);
  void gone.then(() => {
    isGone = true;
    wake();
  });
  try {
    while (true) {
      const chunk = pipe.read() as Buffer | null;
      if (chunk !== null) {
        onChunk();
        yield chunk;
        continue;
      }
      if (pipe.readableEnded || pipe.destroyed) return;
      const event = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (!isGone) await event;
      else if (!(await settledWithin(event, quietMs))) return;
    }
  } finally {
    for (const event of events) pipe.off(event, onEvent);
    if (isGone) pipe.destroy();
    else pipe.resume();
  }
}

/** Returns true if the promise settled in time. */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: timedOut, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  try {
    return await Promise.race([promise.then(() => true), timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
