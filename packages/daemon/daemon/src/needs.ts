/**
 * The one list of what waits for a person: asks, failed work, and finished work in worktrees. Work of a closed session
 * stays in it until its worktree is landed or removed.
 */
import type { SessionId } from "@aegis/contract/ids.ts";
import { type Landing, openLandings } from "@aegis/contract/landing.ts";
import type { OpenNeed } from "@aegis/contract/need.ts";
import { isVerified } from "@aegis/contract/receipt.ts";
import type { Worktree } from "@aegis/contract/worktree.ts";
import { titleFrom } from "@aegis/lib/title.ts";
import type { SessionRow, StoreReads } from "@aegis/store/store.ts";

const mostFailedTasks = 50;
const mostLandings = 1_000;

export async function readNeeds(read: StoreReads): Promise<OpenNeed[]> {
  const [asks, sessions, tasks, worktrees] = await Promise.all([
    askNeeds(read),
    read.sessions.list({ closed: false }),
    read.tasks.list({ status: "failed", limit: mostFailedTasks }),
    read.worktrees.list(),
  ]);
  const failed = await Promise.all([
    ...sessions.filter(({ state }) => state === "error").map((row) => failedSession(read, row)),
    ...tasks.map(async (task): Promise<OpenNeed> => {
      const worker = task.worker === null ? null : await read.sessions.get(task.worker);
      const since = task.ended_at ?? task.enqueued_at;
      const about = worker === null ? { ...nothing, handle: task.id } : named(worker);
      return { ...about, kind: "failed", task: task.id, title: titleFrom(task.payload), since, problem: task.error };
    }),
  ]);
  const landings = worktrees.length === 0 ? [] : await read.landings.list(mostLandings);
  const asking = new Set(asks.map(({ session }) => session));
  const ready = await Promise.all(
    worktrees.filter(({ session }) => !asking.has(session)).map((row) => readyWork(read, row, landings)),
  );
  return [...asks, ...oldestFirst(failed), ...oldestFirst(ready.filter((one) => one !== null))];
}

const nothing: Omit<OpenNeed, "kind" | "title" | "handle" | "since"> = {
  session: null,
  task: null,
  agent: null,
  closed: false,
  problem: null,
  changes: null,
  check: null,
  target: null,
};

function named(row: SessionRow) {
  const { id, title, handle, agent } = row;
  return { ...nothing, session: id, title, handle, agent, closed: row.closed_at !== null };
}

async function askNeeds(read: StoreReads): Promise<OpenNeed[]> {
  const open = [...(await read.asks.openBySession())];
  const needs = await Promise.all(
    open.map(async ([session, { since }]): Promise<OpenNeed[]> => {
      const row = await read.sessions.get(session);
      return row === null ? [] : [{ ...named(row), kind: "ask", since }];
    }),
  );
  return oldestFirst(needs.flat());
}

async function failedSession(read: StoreReads, row: SessionRow): Promise<OpenNeed> {
  const last = await lastTurn(read, row.id);
  return { ...named(row), kind: "failed", since: last?.ended_at ?? row.created_at, problem: row.error };
}

/** Null while the session works or has messages, without changes, and after they were landed. */
async function readyWork(read: StoreReads, worktree: Worktree, landings: readonly Landing[]): Promise<OpenNeed | null> {
  const { session, target, branch, state } = worktree;
  const row = await read.sessions.get(session);
  if (row === null || state !== "ready" || branch === null || row.state === "working" || row.state === "error")
    return null;
  const [pending, last, [changed], [receipt]] = await Promise.all([
    read.messages.countPending(session),
    lastTurn(read, session),
    read.events.list({ session, types: ["changes.recorded"], limit: 1, from: "newest" }),
    read.receipts.list({ session, limit: 1 }),
  ]);
  const changes = changed?.type === "changes.recorded" ? (changed.data.total ?? null) : null;
  const ended = last?.ended_at ?? null;
  if (pending > 0 || ended === null || changes === null || changes.files === 0) return null;
  const landing = landings.find((one) => one.session === session && one.created_at >= ended);
  if (landing !== undefined && (isDone(landing) || openLandings.includes(landing.state))) return null;
  const check = receipt === undefined || receipt.started_at < ended ? null : isVerified(receipt) ? "passed" : "failed";
  const problem = landing?.state === "cancelled" ? null : (landing?.detail ?? null);
  return { ...named(row), kind: "ready", since: ended, problem, changes, check, target };
}

const isDone = ({ state }: Landing) => state === "landed" || state === "nothing";

async function lastTurn(read: StoreReads, session: SessionId) {
  return (await read.turns.list(session, 1))[0];
}

function oldestFirst(needs: readonly OpenNeed[]): OpenNeed[] {
  return needs.toSorted((a, b) => a.since - b.since);
}
