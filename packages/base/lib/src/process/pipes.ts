/** Reads pipes that an unrelated process may keep open forever, and keeps the end of endless output. */
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

interface Tail {
  push(chunk: Uint8Array): void;
  text(): string;
}

const maxBytes = 64 * 1024;
const maxLines = 40;

/** Keeps the last lines of an endless stream in bounded memory. */
export function createTail(): Tail {
  let chunks: Uint8Array[] = [];
  let size = 0;
  let cut = false;

  return {
    push(chunk) {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= maxBytes * 2) return;
      const kept = Buffer.concat(chunks).subarray(-maxBytes);
      // A copy, because a view would retain the whole discarded buffer.
      chunks = [Buffer.from(kept)];
      size = kept.length;
      cut = true;
    },
    text() {
      const all = Buffer.concat(chunks);
      const kept = all.subarray(-maxBytes);
      const rows = kept.toString("utf8").trimEnd().split("\n");
      if ((cut || kept.length < all.length) && rows.length > 1) rows.shift();
      return rows.slice(-maxLines).join("\n");
    },
  };
}
