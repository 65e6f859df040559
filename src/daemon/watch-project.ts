/** Notices when the project's folder or its state is deleted or replaced under the daemon. */
import { stat } from "node:fs/promises";
import { isErrno } from "../lib/files.ts";

const everyMs = 2_000;

/** Calls back once when the state folder is no longer the one the daemon started with. Returns its undo. */
export function watchProject(root: string, stateDir: string, onGone: () => void): () => void {
  let first: string | null = null;
  const timer = setInterval(async () => {
    const now = await identity(root, stateDir);
    first ??= now;
    if (now !== null && now === first) return;
    clearInterval(timer);
    onGone();
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Null when the folder is gone; an error that says neither leaves it as it was. */
async function identity(...folders: string[]): Promise<string | null> {
  try {
    const stats = await Promise.all(folders.map((folder) => stat(folder)));
    return stats.map((one) => `${one.dev}:${one.ino}`).join(" ");
  } catch (error) {
    return isErrno(error, "ENOENT", "ENOTDIR") ? null : "unknown";
  }
}
