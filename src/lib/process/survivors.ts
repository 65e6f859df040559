/** Finds and ends the processes that an earlier daemon of the same project left running, and nothing else. */
import { setTimeout as delay } from "node:timers/promises";
import { errorText, type Logger } from "../log.ts";
import type { Ledger } from "./ledger.ts";
import type { ProcessInfo, ProcessTable } from "./table.ts";

/** Carried by every child, so that also those that left their group are found. */
export const ownerVariable = "AEGIS_OWNER";

export type Survivor = { pid: number; command: string; killed: boolean };

const graceMs = 1000;
const killDeadlineMs = 5000;
const pollMs = 20;

export async function endSurvivors(options: {
  table: ProcessTable;
  ledger: Ledger;
  owner: string;
  /** Groups that this daemon started itself. */
  spare: ReadonlySet<number>;
  log: Logger;
}): Promise<Survivor[]> {
  const { table, ledger, log } = options;
  const recorded = ledger.entries();
  const commands = new Map(recorded.map((entry) => [entry.pid, entry.command]));
  const found = findSurvivors(options);
  await endAll(found, table, log);
  const left = new Set(found.filter((info) => isRunning(info, table)).map((info) => info.pid));
  await ledger.replace(recorded.filter((entry) => options.spare.has(entry.pid) || left.has(entry.pid)));
  return found.map((info) => ({
    pid: info.pid,
    command: commands.get(info.pid) ?? info.command,
    killed: !left.has(info.pid),
  }));
}

function findSurvivors({
  table,
  ledger,
  owner,
  spare,
}: {
  table: ProcessTable;
  ledger: Ledger;
  owner: string;
  spare: ReadonlySet<number>;
}): ProcessInfo[] {
  const all = table.list();
  const starts = new Map(ledger.entries().map((entry) => [entry.pid, entry.start]));
  const mark = `${ownerVariable}=${owner}`;
  const leaders = new Set(all.filter((info) => starts.get(info.pid) === info.start).map((info) => info.pid));
  const isOurs = (info: ProcessInfo) =>
    leaders.has(info.group) || leaders.has(info.pid) || (table.environment(info.pid)?.includes(mark) ?? false);
  const line = ancestry(all);
  return all.filter((info) => !info.zombie && !line.has(info.pid) && !spare.has(info.group) && isOurs(info));
}

/** This process and those above it: an agent of the project may be what started this daemon. */
function ancestry(all: readonly ProcessInfo[]): Set<number> {
  const parents = new Map(all.map((info) => [info.pid, info.parent]));
  const line = new Set<number>();
  for (let pid: number | undefined = process.pid; pid !== undefined && !line.has(pid); pid = parents.get(pid)) {
    line.add(pid);
  }
  return line;
}

async function endAll(found: readonly ProcessInfo[], table: ProcessTable, log: Logger): Promise<void> {
  const began = performance.now();
  let running = [...found];
  for (const info of running) signal(info, "SIGTERM", table, log);
  while (running.length > 0 && performance.now() < began + graceMs + killDeadlineMs) {
    if (performance.now() >= began + graceMs) for (const info of running) signal(info, "SIGKILL", table, log);
    await delay(pollMs);
    running = running.filter((info) => isRunning(info, table));
  }
}

/** Asks again who the pid belongs to: it may have been given away since the process was found. */
function signal(info: ProcessInfo, name: NodeJS.Signals, table: ProcessTable, log: Logger): void {
  if (!isRunning(info, table)) return;
  try {
    process.kill(info.pid, name);
  } catch (error) {
    log.debug("a survivor could not be signalled", { pid: info.pid, error: errorText(error) });
  }
}

function isRunning(info: ProcessInfo, table: ProcessTable): boolean {
  const now = table.get(info.pid);
  return now !== null && now.start === info.start && !now.zombie;
}
