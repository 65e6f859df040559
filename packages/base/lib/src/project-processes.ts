/** Access to a project's processes for programs other than its daemon. */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "./clock.ts";
import { stateDir } from "./daemon-file.ts";
import { silentLogger } from "./log.ts";
import { createProcesses, type Processes } from "./process.ts";

export function projectProcesses(root: string): Processes {
  const owner = stateDir(realpathSync(root));
  return createProcesses({ ledgerFile: join(owner, "processes.jsonl"), owner, clock: systemClock, log: silentLogger });
}
