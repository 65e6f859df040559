/** Kills processes one by one if no group holds them together, and verifies that they are gone. */
import { setTimeout as delay } from "node:timers/promises";
import { errorText, type Logger } from "../log.ts";
import type { ProcessInfo, ProcessTable } from "./table.ts";

export type GroupEnding = {
  table: ProcessTable;
  log: Logger;
  /** When to send SIGKILL, by `performance.now()`. A function, because a later caller can shorten the grace period. */
  killAt: () => number;
};

/** A process that survives SIGKILL for this long hangs in the kernel or belongs to another user. */
const killDeadlineMs = 5000;
const longestPollMs = 20;

/**
 * Sends SIGTERM, then SIGKILL. Searches again after all known processes are gone, because they may have started others.
 * Returns all processes found; one that still exists survived SIGKILL.
 */
export async function endProcesses(
  find: () => readonly ProcessInfo[] | Promise<readonly ProcessInfo[]>,
  { table, log, killAt }: GroupEnding,
): Promise<ProcessInfo[]> {
  const known = new Map<string, ProcessInfo>();
  const began = performance.now();
  const isLate = () => performance.now() >= Math.max(began, killAt()) + killDeadlineMs;
  while (true) {
    // On systems that use `ps`, the search may find its own `ps` process, which has ended by now.
    const fresh = (await find()).filter((info) => !known.has(nameOf(info)) && isSame(info, table));
    if (fresh.length === 0) return [...known.values()];
    if (isLate()) {
      log.error("processes are started faster than they can be killed", { pids: fresh.map(({ pid }) => pid) });
      return [...known.values(), ...fresh];
    }
    for (const info of fresh) {
      known.set(nameOf(info), info);
      signal(info, "SIGTERM", table, log);
    }
    let running = fresh;
    for (let wait = 2; ; wait = Math.min(wait * 2, longestPollMs)) {
      running = running.filter((info) => isSame(info, table));
      if (running.length === 0) break;
      const now = performance.now();
      if (now >= killAt()) for (const info of running) signal(info, "SIGKILL", table, log);
      if (isLate()) {
        log.error("processes are still alive after SIGKILL", { pids: running.map(({ pid }) => pid) });
        return [...known.values()];
      }
      await delay(Math.max(1, Math.min(wait, killAt() - now)));
    }
  }
}

/** Returns whether the pid still belongs to this process and the process is running. */
export function isSame(info: ProcessInfo, table: ProcessTable): boolean {
  const now = table.get(info.pid);
  return now !== null && now.start === info.start && !now.zombie;
}

function nameOf({ pid, start }: ProcessInfo): string {
  return `${pid} ${start}`;
}

/** Checks the pid again before the signal: the system may have reused it since the process was found. */
function signal(info: ProcessInfo, name: NodeJS.Signals, table: ProcessTable, log: Logger): void {
  if (!isSame(info, table)) return;
  try {
    process.kill(info.pid, name);
  } catch (error) {
    log.debug("a process could not be signalled", { pid: info.pid, error: errorText(error) });
  }
}
