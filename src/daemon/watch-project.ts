/** Notices when the project's folder or its state is deleted or replaced under the daemon. */
import { stat } from "node:fs/promises";
import { isErrno } from "../lib/files.ts";

const everyMs = 2_000;
const gone = "gone";
const unknown = "unknown";

/** Calls back once when the state folder is no longer the one the daemon started with. Returns its undo. */
export async function watchProject(root: string, stateDir: string, onGone: () => void): Promise<() => void> {
  const first = await identity(root, stateDir);
  const timer = setInterval(async () => {
    const now = await identity(root, stateDir);
    if (now === unknown || (now === first && now !== gone)) return;
    clearInterval(timer);
    onGone();
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** An error that does not say that the folder is gone leaves that open. */
async function identity(...folders: string[]): Promise<string> {
  try {
    const stats = await Promise.all(folders.map((folder) => stat(folder)));
    return stats.map((one) => `${one.dev}:${one.ino}`).join(" ");
  } catch (error) {
    return isErrno(error, "ENOENT", "ENOTDIR") ? gone : unknown;
  }
}
