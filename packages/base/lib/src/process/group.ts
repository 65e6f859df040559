/** Kills a process group and verifies that it is gone. */
import { setTimeout as delay } from "node:timers/promises";
import { isErrno } from "../files.ts";
import type { ProcessTable } from "./table.ts";

export interface ProcessGroup {
  /**
   * Sends SIGTERM, and SIGKILL after the grace period. Resolves when no process of the group is left. If called again,
   * the shorter grace period applies. Rejects if the group survives SIGKILL.
   */
  end(graceMs: number): Promise<void>;
}

/** A process that survives SIGKILL for this long hangs in the kernel or belongs to another user. */
const killDeadlineMs = 10_000;
const longestPollMs = 50;

/** Uses the system clock: real processes do not follow a test clock. */
export function createGroup(id: number, table: ProcessTable): ProcessGroup {
  let killAt = Number.POSITIVE_INFINITY;
  let ended: Promise<void> | null = null;

  const run = async () => {
    signalGroup(id, "SIGTERM");
    for (let wait = 2; isGroupAlive(id, table); wait = Math.min(wait * 2, longestPollMs)) {
      const now = performance.now();
      if (now >= killAt) signalGroup(id, "SIGKILL");
      if (now >= killAt + killDeadlineMs) throw new Error(`process group ${id} is still alive after SIGKILL`);
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

/** A zombie that its parent never reaps keeps its group id but runs nothing. */
function isGroupAlive(id: number, table: ProcessTable): boolean {
  if (!signalGroup(id, 0)) return false;
  return table.list().some((info) => info.group === id && !info.zombie);
}

/** Returns false if the group no longer exists. */
function signalGroup(id: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-id, signal);
    return true;
  } catch (error) {
    // EPERM: the processes exist but belong to another user.
    if (isErrno(error, "EPERM")) return true;
    if (isErrno(error, "ESRCH")) return false;
    throw error;
  }
}
