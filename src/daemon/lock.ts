/** One daemon per project: the lock is let go of when its holder dies, however it dies. */
import { join } from "node:path";
import { AegisError } from "../contract/errors.ts";
import { inspectDaemonFile } from "../lib/daemon-file.ts";
import { tryFileLock } from "../lib/file-lock.ts";

/** Another daemon has the project: whoever wanted to start one can use that. */
export class ProjectTakenError extends AegisError {}

/** Takes the project's lock or says who has it. Disposing gives it back. */
export async function lockProject(root: string, stateDir: string): Promise<Disposable> {
  const lock = tryFileLock(join(stateDir, "lock.db"));
  if (lock === null) throw await heldBy(root);
  return lock;
}

async function heldBy(root: string): Promise<ProjectTakenError> {
  const found = await inspectDaemonFile(root);
  const who = found.state === "live" ? ` (pid ${found.file.pid}, ${found.file.url})` : "";
  return new ProjectTakenError("conflict", `a daemon already runs for this project${who}`, {
    hint: "use it as it is, or stop it first with `aegis down`",
  });
}
