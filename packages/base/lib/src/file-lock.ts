/**
 * A lock across all processes of a machine. It uses SQLite's lock on a small file. The system releases it when its
 * holder dies, so it is never stale.
 */
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "./clock.ts";

export type FileLockOptions = { clock: Clock; signal: AbortSignal; waitMs?: number };

/** Another process held the lock until the timeout. */
class FileLockBusy extends Error {
  override readonly name = "FileLockBusy";
}

const defaultWaitMs = 30_000;
const pauseMs = 25;

/** Runs `work` while holding the lock at `path`. The folder of `path` must exist. */
export async function withFileLock<T>(path: string, work: () => Promise<T>, options: FileLockOptions): Promise<T> {
  const { clock, signal, waitMs = defaultWaitMs } = options;
  const deadline = clock.now() + waitMs;
  for (;;) {
    using lock = tryFileLock(path);
    if (lock !== null) return await work();
    if (clock.now() >= deadline) throw new FileLockBusy(`another process holds ${path}`);
    await clock.sleep(pauseMs, signal);
  }
}

/** Returns null if another process holds the lock. Disposing releases it. */
export function tryFileLock(path: string): Disposable | null {
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    return { [Symbol.dispose]: () => file.close() };
  } catch (error) {
    file.close();
    if (error instanceof Error && "errcode" in error && (error.errcode === 5 || error.errcode === 6)) return null;
    throw error;
  }
}
