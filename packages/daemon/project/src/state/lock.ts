/**
 * Ensures one daemon per project. The operating system releases the lock on `lock.db` when its holder dies. The file
 * can be deleted while it is held, so `state/hold.ts` takes further locks in the user's home.
 */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { tryFileLock } from "@aegis/lib/file-lock.ts";

/** Another process holds the project. If it serves it, the caller can connect to it. */
export class ProjectTakenError extends AegisError {
  /** False for a process that starts, stops or waits for its database. */
  readonly isServed: boolean;

  constructor(message: string, { isServed, hint }: { isServed: boolean; hint: string }) {
    super("conflict", message, { hint });
    this.isServed = isServed;
  }
}

export class ProjectLock implements Disposable {
  readonly #path: string;
  readonly #held: Disposable[];
  #file: string | null;

  /** Returns null if another process holds the lock. */
  static take(stateDir: string): ProjectLock | null {
    const path = join(stateDir, "lock.db");
    const lock = takeFile(path);
    return lock === null ? null : new ProjectLock(path, lock);
  }

  private constructor(path: string, lock: Disposable) {
    this.#path = path;
    this.#held = [lock];
    this.#file = fileAt(path);
  }

  /** Takes the lock again after the file was deleted or replaced. Returns true if it had to. */
  restore(): boolean {
    const now = fileAt(this.#path);
    if (now !== null && now === this.#file) return false;
    const lock = takeFile(this.#path);
    if (lock === null) return false;
    this.#held.push(lock);
    this.#file = fileAt(this.#path);
    return true;
  }

  [Symbol.dispose](): void {
    for (const lock of this.#held.splice(0)) lock[Symbol.dispose]();
  }
}

/** Identifies the holder of the project as far as possible. */
export async function takenBy(root: string, home: string): Promise<ProjectTakenError> {
  const found = await inspectDaemonFile(root, home);
  if (found.state === "foreign")
    return new ProjectTakenError(`another process uses this project, and ${found.problem}`, {
      isServed: true,
      hint: `if pid ${found.pid} is a daemon of an older Aegis, stop it with: kill ${found.pid}`,
    });
  const who = found.state === "live" ? ` (pid ${found.file.pid}, ${found.file.url})` : "";
  return new ProjectTakenError(`a daemon already runs for this project${who}`, {
    isServed: found.state === "live",
    hint: "use that daemon, or stop it first with `aegis down`",
  });
}

/** Replaces a file that is not a lock: SQLite never leaves such a file, and no process can hold it. */
function takeFile(path: string): Disposable | null {
  try {
    return tryFileLock(path);
  } catch (error) {
    if (!(error instanceof Error && "errcode" in error && error.errcode === notDatabase)) throw error;
    rmSync(path, { force: true });
    return tryFileLock(path);
  }
}

/** SQLITE_NOTADB */
const notDatabase = 26;

function fileAt(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
