/** Starting a harness: whether it answers in time, and why it could not be started, so that a user can fix it. */

import type { Clock } from "@aegis/lib/clock.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { DriverError } from "../driver.ts";
import type { Program } from "./probe.ts";

/** The error of a process that the system refused to start. */
export function spawnFailure(program: Program, command: string, cwd: string, error: unknown): DriverError {
  if (error instanceof DriverError) return error;
  if (isErrno(error, "ENOENT") && error.path !== undefined && error.path === cwd) {
    const message = `${program.name} cannot start: the folder ${cwd} does not exist.`;
    return new DriverError({ code: "start", message }, { cause: error });
  }
  if (isErrno(error, "ENOENT", "ENOTDIR")) {
    const message = `${program.name} is not installed: there is no "${command}".`;
    const fix = `Install it with: ${program.install} - or set the agent's command to its path.`;
    return new DriverError({ code: "not_installed", message, fix }, { cause: error });
  }
  if (isErrno(error, "EACCES")) {
    const message = `${program.name} cannot start: "${command}" is not an executable file.`;
    return new DriverError(
      { code: "start", message, fix: `Make it executable: chmod +x ${command}` },
      { cause: error },
    );
  }
  const message = `${program.name} cannot start: ${errorText(error)}.`;
  return new DriverError({ code: "start", message }, { cause: error });
}

type Readiness = "ready" | "refused" | "late";

export async function readiness(answer: Promise<unknown>, deadlineMs: number, clock: Clock): Promise<Readiness> {
  const over = new AbortController();
  const answered = answer.then(
    (): Readiness => "ready",
    (): Readiness => "refused",
  );
  const late = clock.sleep(deadlineMs, over.signal).then(
    (): Readiness => "late",
    (): Readiness => "late",
  );
  try {
    return await Promise.race([answered, late]);
  } finally {
    over.abort();
  }
}
