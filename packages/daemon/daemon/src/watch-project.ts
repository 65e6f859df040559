/** Detects that the project folder, its state or its database was deleted or replaced while the daemon runs. */
import { stat } from "node:fs/promises";
import { isErrno } from "@aegis/lib/files.ts";

const everyMs = 2_000;
const gone = "gone";
const unknown = "unknown";

export type ProjectWatch = {
  /** The paths that must keep their identity. */
  paths: readonly string[];
  /** Called once, when a path no longer exists or leads to another file. */
  onGone(): void;
  /** Called regularly while all paths are unchanged. Must not reject. */
  onThere(): Promise<void>;
};

/** Returns a function that stops watching and waits for a running check. */
export async function watchProject({ paths, onGone, onThere }: ProjectWatch): Promise<() => Promise<void>> {
  const first = await identity(paths);
  const look = async () => {
    const now = await identity(paths);
    if (now === unknown) return;
    if (now === first && now !== gone) return onThere();
    clearInterval(timer);
    onGone();
  };
  let looking: Promise<void> | null = null;
  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = null;
    });
  }, everyMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await looking;
  };
}

/** Only an error that proves that a path is missing counts; other errors are inconclusive. */
async function identity(paths: readonly string[]): Promise<string> {
  try {
    const stats = await Promise.all(paths.map((path) => stat(path)));
    return stats.map((one) => `${one.dev}:${one.ino}`).join(" ");
  } catch (error) {
    return isErrno(error, "ENOENT", "ENOTDIR") ? gone : unknown;
  }
}
