/**
 * Finds the descendants of a child in any group, session or parent. It uses three sources: the mark in the inherited
 * environment, the session that the child leads, and the chain of parents while it is intact. It does not find a
 * program that clears its environment, leaves the session and loses its parent.
 */
import { errorText, type Logger } from "../log.ts";
import { endProcesses } from "./ending.ts";
import { childVariable } from "./marks.ts";
import type { ProcessInfo, ProcessTable } from "./table.ts";

interface Family {
  /**
   * Ends all of them except the group, which is ended separately and may start others until then. If called again, the
   * shorter grace period applies.
   */
  end(graceMs: number, groupGone: Promise<void>): Promise<void>;
}

/** `began` is the start time of the child in the table's unit. Older processes are not its descendants. */
type Root = { id: string; pid: number; began: number };

export interface Families {
  add(child: Root): Family;
  /**
   * The child ended by itself. Processes that it left outside its group are ended soon, in one batch with those of
   * other children.
   */
  collectSoon(child: Omit<Root, "pid">): void;
  /** Resolves when nothing is left to collect. The shorter grace period applies here too. */
  settle(graceMs: number): Promise<void>;
}

/** Batches children that end in quick succession into one process listing. */
const collectAfterMs = 100;
const collectGraceMs = 3000;

export function createFamilies(table: ProcessTable, log: Logger): Families {
  const marked = sharedSurvey(table);
  const orphans = new Map<string, number>();
  let collecting: Promise<void> | null = null;
  let collectBy = Number.POSITIVE_INFINITY;
  let grace = collectGraceMs;
  let hurry = () => {};

  const collect = async () => {
    const { promise: waited, resolve } = Promise.withResolvers<void>();
    hurry = resolve;
    const timer = setTimeout(resolve, collectAfterMs).unref();
    await waited;
    clearTimeout(timer);
    while (orphans.size > 0) {
      const ids = new Map(orphans);
      orphans.clear();
      collectBy = performance.now() + grace;
      const found = await endProcesses(() => marked(ids), { table, log, killAt: () => collectBy });
      if (found.length > 0) log.info("killed processes that a child left behind", { processes: named(found) });
    }
  };

  const begin = () => {
    collecting ??= collect()
      .catch((error: unknown) =>
        log.error("processes that children left behind could not be killed", { error: errorText(error) }),
      )
      .finally(() => {
        collecting = null;
        grace = collectGraceMs;
        if (orphans.size > 0) begin();
      });
  };

  return {
    add({ id, pid, began }) {
      let killAt = Number.POSITIVE_INFINITY;
      let ended: Promise<void> | null = null;
      const isOutside = (info: ProcessInfo) => info.group !== pid && !info.zombie;
      const run = async (groupGone: Promise<void>) => {
        const ending = { table, log, killAt: () => killAt };
        // Before any signal: when a parent ends, the link to its children is lost.
        const all = table.list().filter((info) => info.began >= began);
        const line = new Set(descendants(all, pid));
        const marks = await table.variable(childVariable, all);
        const known = all.filter((info) => isOutside(info) && (line.has(info) || marks.get(info.pid) === id));
        if (known.length > 0) await endProcesses(() => known, ending);
        await groupGone;
        const ids = new Map([[id, began]]);
        await endProcesses(async () => (await marked(ids)).filter(isOutside), ending);
      };
      return {
        end(graceMs, groupGone) {
          killAt = Math.min(killAt, performance.now() + graceMs);
          ended ??= run(groupGone);
          return ended;
        },
      };
    },
    collectSoon({ id, began }) {
      orphans.set(id, began);
      begin();
    },
    async settle(graceMs) {
      while (collecting !== null) {
        grace = Math.min(grace, graceMs);
        collectBy = Math.min(collectBy, performance.now() + grace);
        hurry();
        await collecting;
      }
    },
  };
}

const named = (found: readonly ProcessInfo[]) => found.map(({ pid, command }) => ({ pid, command }));

/** Finds processes that carry one of the marks. Callers that ask while a survey is running share the next one. */
function sharedSurvey(table: ProcessTable): (ids: ReadonlyMap<string, number>) => Promise<ProcessInfo[]> {
  type Look = { alive: ProcessInfo[]; marks: Map<number, string> };
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Look> | null = null;
  let since = Number.POSITIVE_INFINITY;
  const look = async (): Promise<Look> => {
    const from = since;
    next = null;
    since = Number.POSITIVE_INFINITY;
    // Reading environments is the expensive part, and most processes of a machine are older.
    const alive = (await table.survey()).filter((info) => !info.zombie && info.began >= from);
    return { alive, marks: await table.variable(childVariable, alive) };
  };
  return async (ids) => {
    since = Math.min(since, ...ids.values());
    if (next === null) {
      next = running.then(look);
      running = next.catch(() => {});
    }
    const { alive, marks } = await next;
    return alive.filter((info) => ids.has(marks.get(info.pid) ?? ""));
  };
}

/** The processes of the child's session and everything below them. */
export function descendants(all: readonly ProcessInfo[], root: number): ProcessInfo[] {
  const line = new Set([root]);
  // A parent may come after its child in the list, so repeat until nothing new is found.
  for (let size = 0; size !== line.size; ) {
    size = line.size;
    for (const { pid, parent, session } of all) if (session === root || line.has(parent)) line.add(pid);
  }
  return all.filter((info) => line.has(info.pid) && info.pid !== root && !info.zombie);
}
