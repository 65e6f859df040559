/** Ends a process group and proves that it is gone. */
import { setTimeout as delay } from "node:timers/promises";
import { isErrno } from "../files.ts";
import type { ProcessTable } from "./table.ts";

export interface Group {
  /**
   * SIGTERM, SIGKILL after the grace; resolves when no process of the group is left. Called again, the shorter grace
   * holds. Rejects when the group outlives SIGKILL.
   */
  end(graceMs: number): Promise<void>;
}

/** What SIGKILL cannot end in this time hangs in the kernel or belongs to another user. */
const killDeadlineMs = 10_000;
const longestPollMs = 50;

/** Time here is the system's own: a process pays no heed to a clock that a test holds still. */
export function createGroup(id: number, table: ProcessTable): Group {
  let killAt = Number.POSITIVE_INFINITY;
  let ended: Promise<void> | null = null;

  const run = async () => {
    signalGroup(id, "SIGTERM");
    for (let wait = 2; isGroupAlive(id, table); wait = Math.min(wait * 2, longestPollMs)) {
      const now = performance.now();
      if (now >= killAt) signalGroup(id, "SIGKILL");
      if (now >= killAt + killDeadlineMs) throw new Error(`process group ${id} is still there after SIGKILL`);
      await delay(Math.max(1, Math.min(wait, killAt - now)));
    }
  };

  return {
    end(graceMs) {
      killAt = Math.min(killAt, performance.now() + graceMs);
      ended ??= run();
      return ended;
    },
  };
}

/** A zombie whose parent never collects it keeps its group's number but runs nothing. */
function isGroupAlive(id: number, table: ProcessTable): boolean {
  if (!signalGroup(id, 0)) return false;
  return table.list().some((info) => info.group === id && !info.zombie);
}

/** False when no such group is left. */
function signalGroup(id: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-id, signal);
    return true;
  } catch (error) {
    // EPERM: there are processes, but of another user.
    if (isErrno(error, "EPERM")) return true;
    if (isErrno(error, "ESRCH")) return false;
    throw error;
  }
}
