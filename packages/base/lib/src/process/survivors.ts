/**
 * Finds and kills the processes that an earlier daemon of the same project left running. It touches no other process.
 */
import type { Logger } from "../log.ts";
import { endProcesses, isSame } from "./ending.ts";
import type { Ledger } from "./ledger.ts";
import { childVariable, ownerVariable } from "./marks.ts";
import type { ProcessInfo, ProcessTable } from "./table.ts";

export type Survivor = { pid: number; command: string; killed: boolean };

export type SurvivorOptions = {
  table: ProcessTable;
  ledger: Ledger;
  owner: string;
  /** The children of this process, by mark. They and their descendants are not survivors. */
  spare: ReadonlyMap<string, number>;
  log: Logger;
};

const defaultGraceMs = 1000;

export async function endSurvivors(options: SurvivorOptions, graceMs = defaultGraceMs): Promise<Survivor[]> {
  const { table, ledger, log, spare } = options;
  const recorded = ledger.entries();
  const killAt = performance.now() + graceMs;
  const found = await endProcesses(() => findSurvivors(options), { table, log, killAt: () => killAt });
  const left = new Set(found.filter((info) => isSame(info, table)).map((info) => info.pid));
  const spared = new Set(spare.values());
  if (recorded.length > 0)
    await ledger.replace(recorded.filter((entry) => spared.has(entry.pid) || left.has(entry.pid)));
  return found.map((info) => ({
    pid: info.pid,
    command: commandOf(info, recorded),
    killed: !left.has(info.pid),
  }));
}

export type Leftover = Omit<Survivor, "killed">;

type Search = Pick<SurvivorOptions, "table" | "ledger" | "owner">;

/**
 * Returns processes that outlived the child they descend from. While the project's daemon runs, these are the processes
 * with the mark of a recorded child that has ended; without a daemon, all processes of the project.
 */
export async function findLeftovers(search: Search, daemonRuns: boolean): Promise<Leftover[]> {
  const recorded = search.ledger.entries();
  const found = await (daemonRuns ? findOrphans(search) : findSurvivors({ ...search, spare: new Map() }));
  return found.map((info) => ({ pid: info.pid, command: commandOf(info, recorded) }));
}

/** Ends processes that outlived their child while the daemon keeps running. */
export async function endOrphans(search: Search, log: Logger): Promise<Survivor[]> {
  const { table, ledger } = search;
  const recorded = ledger.entries();
  const killAt = performance.now() + defaultGraceMs;
  const found = await endProcesses(() => findOrphans(search), { table, log, killAt: () => killAt });
  return found.map((info) => ({
    pid: info.pid,
    command: commandOf(info, recorded),
    killed: !isSame(info, table),
  }));
}

async function findOrphans({ table, ledger, owner }: Search): Promise<ProcessInfo[]> {
  const { all, children } = await projectProcesses(table, owner);
  const recorded = new Map(ledger.entries().map((entry) => [entry.child, entry]));
  const isGone = (child: string) => {
    const entry = recorded.get(child);
    return entry !== undefined && (entry.start === null || table.get(entry.pid)?.start !== entry.start);
  };
  const line = ancestry(all);
  return all.filter((info) => isGone(children.get(info.pid) ?? "") && !line.has(info.pid));
}

function commandOf(info: ProcessInfo, recorded: ReturnType<Ledger["entries"]>): string {
  return recorded.find((entry) => entry.pid === info.pid && entry.start === info.start)?.command ?? info.command;
}

async function findSurvivors({
  table,
  ledger,
  owner,
  spare,
}: Pick<SurvivorOptions, "table" | "ledger" | "owner" | "spare">): Promise<ProcessInfo[]> {
  const { all, children } = await projectProcesses(table, owner);
  const starts = new Map(ledger.entries().map((entry) => [entry.pid, entry.start]));
  const leaders = new Set(all.filter((info) => starts.get(info.pid) === info.start).map((info) => info.pid));
  const groups = new Set(spare.values());
  const isOurs = (info: ProcessInfo) =>
    leaders.has(info.group) || leaders.has(info.session) || leaders.has(info.pid) || children.has(info.pid);
  const isSpared = (info: ProcessInfo) =>
    groups.has(info.group) || groups.has(info.session) || spare.has(children.get(info.pid) ?? "");
  const line = ancestry(all);
  return all.filter((info) => !line.has(info.pid) && !isSpared(info) && isOurs(info));
}

/**
 * Lists all processes, and the originating child for those of the project (an empty string if an earlier version
 * started it).
 */
async function projectProcesses(
  table: ProcessTable,
  owner: string,
): Promise<{ all: ProcessInfo[]; children: Map<number, string> }> {
  const all = (await table.survey()).filter((info) => !info.zombie);
  const owners = await table.variable(ownerVariable, all);
  const owned = all.filter((info) => owners.get(info.pid) === owner);
  const marks = await table.variable(childVariable, owned);
  return { all, children: new Map(owned.map(({ pid }) => [pid, marks.get(pid) ?? ""])) };
}

/** This process and its ancestors: an agent of the project may have started this daemon. */
function ancestry(all: readonly ProcessInfo[]): Set<number> {
  const parents = new Map(all.map((info) => [info.pid, info.parent]));
  const line = new Set<number>();
  for (let pid: number | undefined = process.pid; pid !== undefined && !line.has(pid); pid = parents.get(pid)) {
    line.add(pid);
  }
  return line;
}
