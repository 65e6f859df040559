/**
 * Access to a project's processes for programs other than its daemon. Only a daemon records processes in a project's
 * state, because it has verified first whose state that is.
 */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "./clock.ts";
import { stateDir } from "./daemon-file.ts";
import { silentLogger } from "./log.ts";
import { createProcesses, type Processes } from "./process.ts";

/** The processes that a daemon of the project recorded and left running. */
export function leftProcesses(root: string): Pick<Processes, "sweep" | "leftovers" | "endLeftovers"> {
  const owner = stateDir(realpathSync(root));
  return createProcesses({ ledgerFile: join(owner, "processes.jsonl"), owner, clock: systemClock, log: silentLogger });
}

/** Starts short-lived processes. If this program is killed, the next daemon finds them by their marks. */
export function unrecordedProcesses(root: string): Processes {
  const owner = stateDir(realpathSync(root));
  return createProcesses({ ledgerFile: null, owner, clock: systemClock, log: silentLogger });
}
