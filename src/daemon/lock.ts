/**
 * One daemon per project. The lock is SQLite's own lock on a small file: the system lets go of it when its holder dies,
 * however it dies, so that it can never be stale.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AegisError } from "../contract/errors.ts";
import { inspectDaemonFile } from "../lib/daemon-file.ts";

/** Another daemon has the project: whoever wanted to start one can use that. */
export class ProjectTakenError extends AegisError {}

/** Takes the project's lock or says who has it. Disposing gives it back. */
export async function lockProject(root: string, stateDir: string): Promise<Disposable> {
  const file = new DatabaseSync(join(stateDir, "lock.db"), { timeout: 0 });
  try {
    file.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if (!isBusy(error)) throw error;
    throw await heldBy(root, error);
  }
  return { [Symbol.dispose]: () => file.close() };
}

async function heldBy(root: string, cause: unknown): Promise<ProjectTakenError> {
  const found = await inspectDaemonFile(root);
  const who = found.state === "live" ? ` (pid ${found.file.pid}, ${found.file.url})` : "";
  return new ProjectTakenError("conflict", `a daemon already runs for this project${who}`, {
    hint: "use it as it is, or stop it first with `aegis down`",
    cause,
  });
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (error.errcode === 5 || error.errcode === 6);
}
