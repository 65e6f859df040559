/** Whose turn it is: one install at a time per project, and no edit of the configuration while files are swapped. */
import { join } from "node:path";
import { AegisError, isAegisError } from "../../contract/errors.ts";
import { stateDir } from "../../lib/daemon-file.ts";
import { installsDir } from "../../runtime/plugins/install/journal.ts";
import { withLock } from "../config/lock.ts";

/** Throws `conflict` at once when another install is under way: it may be waiting for a person. */
export async function alone<T>(root: string, work: () => Promise<T>): Promise<T> {
  let started = false;
  try {
    return await withLock(
      join(installsDir(root), "locks"),
      () => {
        started = true;
        return work();
      },
      { waitMs: 0 },
    );
  } catch (error) {
    if (started || !isAegisError(error) || error.code !== "conflict") throw error;
    throw new AegisError("conflict", "another install of this project is under way", {
      hint: "wait for it to end, then try again",
      cause: error,
    });
  }
}

export function whileConfigRests<T>(root: string, work: () => Promise<T>): Promise<T> {
  return withLock(stateDir(root), work);
}
