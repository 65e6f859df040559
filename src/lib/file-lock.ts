/**
 * One worker at a time over all processes of a machine. The lock is SQLite's own on a small file: the system lets go of
 * it when its holder dies, however it dies, so that it can never be stale.
 */
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "./clock.ts";

export type FileLockOptions = { clock: Clock; signal: AbortSignal; waitMs?: number };

/** Somebody else held the lock all the time. */
export class FileLockBusy extends Error {
  override readonly name = "FileLockBusy";
}

const defaultWaitMs = 30_000;
const pauseMs = 25;

/** Runs `work` while no other process holds the lock at `path`, whose folder must exist. */
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

/** Null when somebody holds it. Disposing gives it back. */
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
