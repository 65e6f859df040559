/**
 * Restores the sessions of a lost database into the current one while the daemon is stopped. Restored sessions are
 * closed and readable. The operation is idempotent.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { SessionId } from "@aegis/contract/ids.ts";
import { storePath } from "@aegis/lib/daemon-file.ts";
import { errorText, silentLogger } from "@aegis/lib/log.ts";
import type { Store, StoreLoss } from "@aegis/store/store.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { type HeldState, holdState, type StatePlace } from "../state/hold.ts";
import { forgetLosses, readLosses } from "../state/losses.ts";
import { insertRebuilt, type Rebuilt, rebuild } from "./rebuild.ts";
import { collectSources, requireOwnDatabase, setAsideDatabases } from "./sources.ts";
import { readTranscript } from "./transcript.ts";

type SalvagedSession = {
  id: SessionId;
  handle: string;
  agent: string;
  title: string;
  events: number;
  /** The number of unreadable lines. */
  unreadable: number;
  /** The number of messages without an answer. They are not sent again. */
  unanswered: number;
};

type SalvagePlan = {
  losses: StoreLoss[];
  /** The set-aside databases that were read. */
  databases: string[];
  sessions: SalvagedSession[];
  /** Found data that cannot be restored, and the reason. */
  left: { what: string; reason: string }[];
};

export type SalvageReport = SalvagePlan & { salvaged: number };

export type SalvageOptions = {
  /** A set-aside database; all of them if absent. */
  from: string | undefined;
  /** Called once with the plan. Returning false changes nothing. */
  agree: (plan: SalvagePlan) => Promise<boolean>;
};

/** Throws `ProjectTakenError` while a daemon runs, and `UnknownStateError` for state that is not the user's. */
export async function salvage(place: StatePlace, { from, agree }: SalvageOptions): Promise<SalvageReport | null> {
  await using scope = new AsyncDisposableStack();
  const state = await holdState(place, scope);
  const store = await openStore(place, state, scope);
  const databases =
    from === undefined ? await setAsideDatabases(state.dir) : [requireOwnDatabase(state.dir, from, state.owner.id)];
  const isKnown = async (id: SessionId) => (await store.read.sessions.get(id)) !== null;
  const sources = await collectSources(state.dir, databases, isKnown);
  const plan: SalvagePlan = { losses: await readLosses(state.dir), databases, sessions: [], left: [] };
  for (const [id, files] of sources) {
    const { rebuilt, unreadable } = await read(place, id, files);
    if (rebuilt === null) plan.left.push({ what: id, reason: "its transcript does not begin with the session" });
    else plan.sessions.push(summaryOf(rebuilt, unreadable));
  }
  plan.sessions.sort((a, b) => (a.id < b.id ? -1 : 1));
  plan.left.push(...(await leftBehind(state.dir, plan)));
  if (!(await agree(plan))) return null;
  const report: SalvageReport = { ...plan, salvaged: 0 };
  // Ids sort by time, so parents come before children.
  for (const { id } of plan.sessions) {
    const { rebuilt } = await read(place, id, sources.get(id) ?? []);
    if (rebuilt === null) continue;
    try {
      if (await store.transact((tx) => insertRebuilt(tx, rebuilt))) report.salvaged += 1;
    } catch (error) {
      report.sessions = report.sessions.filter((session) => session.id !== id);
      report.left.push({ what: `${rebuilt.session.handle} (${id})`, reason: errorText(error) });
    }
  }
  await forgetLosses(state.dir, place.clock.now());
  return report;
}

/** Stops reporting the losses without restoring or deleting anything. Returns the losses that were reported. */
export async function forget(place: StatePlace): Promise<StoreLoss[]> {
  await using scope = new AsyncDisposableStack();
  const { dir } = await holdState(place, scope);
  const losses = await readLosses(dir);
  await forgetLosses(dir, place.clock.now());
  return losses;
}

async function openStore({ root, clock }: StatePlace, state: HeldState, scope: AsyncDisposableStack): Promise<Store> {
  const { owner, losses } = state;
  const store = await openSqliteStore({ path: storePath(root), clock, log: silentLogger, owner, losses });
  scope.defer(async () => {
    await store.close();
    await state.closed();
  });
  return store;
}

async function read(
  { clock }: StatePlace,
  id: SessionId,
  files: readonly string[],
): Promise<{ rebuilt: Rebuilt | null; unreadable: number }> {
  const { events, unreadable } = await readTranscript(id, files);
  return { rebuilt: rebuild(id, events, clock.now()), unreadable };
}

function summaryOf({ session, events, unanswered }: Rebuilt, unreadable: number): SalvagedSession {
  const { id, handle, agent, title } = session;
  return { id, handle, agent, title, events: events.length, unreadable, unanswered };
}

/** Lists what a transcript does not contain. */
async function leftBehind(stateDir: string, plan: SalvagePlan): Promise<SalvagePlan["left"]> {
  if (plan.losses.length === 0 && plan.sessions.length === 0) return [];
  const left = [
    { what: "what harnesses remember", reason: "it was only in the database; the sessions come back closed" },
    { what: "groups, subagents and open asks", reason: "their records were only in the database" },
  ];
  for (const [folder, what] of [
    ["queues", "tasks of queues"],
    ["workflows", "runs of workflows"],
    ["schedules", "firings of schedules"],
  ] as const) {
    const files = (await readdir(join(stateDir, folder)).catch(() => [])).length;
    if (files > 0) left.push({ what, reason: `only what happened is known; read it in .aegis/state/${folder}` });
  }
  return left;
}
