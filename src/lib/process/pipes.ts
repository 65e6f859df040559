/** Reads pipes that a process outside our reach may keep open for ever. */
import type { Readable } from "node:stream";

/** Bytes written just before the end are already in the pipe; this is only how long their arrival may take. */
const quietMs = 200;

/**
 * The chunks of a pipe for one reader. Ends with the pipe, or once its writers are gone and nothing more comes. When
 * the reader leaves early, the rest is thrown away, so that the writer never blocks.
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

/** True when the promise settled in time. */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: timedOut, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  try {
    return await Promise.race([promise.then(() => true), timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
