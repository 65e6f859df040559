/** Runs work until Ctrl-C, SIGTERM or a closed output pipe stops it. */
import type { Terminal } from "./terminal.ts";

export async function untilStopped<T>(cx: Terminal, work: (stopped: AbortSignal) => Promise<T>): Promise<T> {
  const stopped = new AbortController();
  const undo = cx.onStop(() => stopped.abort());
  try {
    return await work(stopped.signal);
  } finally {
    undo();
  }
}
