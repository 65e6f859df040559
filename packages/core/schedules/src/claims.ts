/**
 * Records the decision about a slot before any side effect. Everything here is part of the caller's transaction, so
 * that a slot is decided exactly once, even across a crash.
 */
import { AegisError } from "@aegis/contract/errors.ts";
import { type FiringId, newId } from "@aegis/contract/ids.ts";
import type { Firing, OnOverlap, ScheduleSettings } from "@aegis/contract/schedule.ts";
import type { StoreTx } from "@aegis/store/store.ts";
import { type Decision, stamp } from "./slots.ts";

/** Firings to start or stop after the commit. */
export type ClaimedFirings = { firings: FiringId[] /** How the count of the lifecycle changes. */; fires: number };

export type ClaimContext = {
  name: string;
  settings: ScheduleSettings;
  now: number;
  /** True if missed slots were claimed just before. */
  catchesUp?: boolean;
};

/** The most firings that may wait. A schedule that fires faster than its work ends needs a longer interval. */
const mostWaiting = 100;

/** Claims a slot. A slot that is already stored, because the clock was set back, is not changed. */
export async function claimSlot(tx: StoreTx, context: ClaimContext, decision: Decision): Promise<ClaimedFirings> {
  const { name } = context;
  const { slot } = decision;
  if ((await tx.firings.atSlot(name, slot)) !== null) return { firings: [], fires: 0 };
  const late = decision.what === "fire" && decision.late;
  const firing = newFiring(context, { slot, late, manual: false });
  if (decision.what === "skip") return skipped(tx, firing, decision.reason, context.now);
  const overlap = overlapFor(context, late);
  const open = await tx.firings.unfinished(name);
  const [current] = open;
  if (current === undefined) return claimed(tx, firing, "claimed", context.now);
  if (overlap === "skip") {
    return skipped(tx, firing, `the firing of ${stamp(current.slot)} had not ended (${current.id})`, context.now);
  }
  if (overlap === "kill") return replace(tx, firing, open, context.now);
  const waiting = open.filter((one) => one.status === "waiting").length;
  if (!late && waiting >= mostWaiting) {
    return skipped(tx, firing, `${waiting} firings were waiting already`, context.now);
  }
  return claimed(tx, firing, "waiting", context.now);
}

/** Claims a firing that a person requested. Idempotent by id. */
export async function claimManual(tx: StoreTx, context: ClaimContext, id: FiringId): Promise<ClaimedFirings> {
  const { name, settings, now } = context;
  if ((await tx.firings.get(id)) !== null) return { firings: [], fires: 0 };
  const firing = { ...newFiring(context, { slot: now, late: false, manual: true }), id };
  const open = await tx.firings.unfinished(name);
  const [current] = open;
  if (current !== undefined && settings.on_overlap === "skip") {
    throw new AegisError("conflict", `"${name}" is still running: the firing ${current.id} has not ended`, {
      hint: "wait for it, or let firings queue with on_overlap: queue",
    });
  }
  if (current === undefined) return claimed(tx, firing, "claimed", now);
  return settings.on_overlap === "kill" ? replace(tx, firing, open, now) : claimed(tx, firing, "waiting", now);
}

/** Ends every firing that has not started. Returns how many of them counted for the lifecycle. */
export async function skipWaiting(tx: StoreTx, open: readonly Firing[], reason: string, now: number): Promise<number> {
  const waiting = open.filter((firing) => firing.status === "waiting");
  for (const firing of waiting) {
    await tx.firings.end(firing.id, { status: "skipped", result: null, error: reason, at: now });
    const ended: Firing = { ...firing, status: "skipped", error: reason, ended_at: now };
    const data = { schedule: firing.schedule, firing: ended };
    await tx.events.append({ type: "schedule.skipped", session: null, data }, now);
  }
  return waiting.filter((firing) => !firing.manual).length;
}

/** Selects the firing that has waited longest, unless another one is running. */
export async function promote(tx: StoreTx, schedule: string): Promise<FiringId | null> {
  const open = await tx.firings.unfinished(schedule);
  if (open.some((firing) => firing.status !== "waiting")) return null;
  const [next] = open;
  if (next === undefined) return null;
  await tx.firings.update(next.id, { status: "claimed" });
  return next.id;
}

/**
 * Missed slots run one after another, independent of `on_overlap`. A slot that is due at the same time waits for them:
 * it does not kill them, and it is not skipped.
 */
function overlapFor({ settings, catchesUp = false }: ClaimContext, late: boolean): OnOverlap {
  return late || catchesUp ? "queue" : settings.on_overlap;
}

/** Stops the running firing and skips the waiting ones. */
async function replace(tx: StoreTx, firing: Firing, open: readonly Firing[], now: number): Promise<ClaimedFirings> {
  const reason = `replaced by the firing of ${stamp(firing.slot)}`;
  const given = await skipWaiting(tx, open, reason, now);
  const current = open.find((one) => one.status !== "waiting");
  if (current === undefined) {
    const done = await claimed(tx, firing, "claimed", now);
    return { ...done, fires: done.fires - given };
  }
  if (current.stopping === null) await tx.firings.update(current.id, { stopping: `killed: ${reason}` });
  const done = await claimed(tx, firing, "waiting", now);
  return { firings: [...done.firings, current.id], fires: done.fires - given };
}

async function claimed(
  tx: StoreTx,
  firing: Firing,
  status: "claimed" | "waiting",
  now: number,
): Promise<ClaimedFirings> {
  const row: Firing = { ...firing, status };
  await tx.firings.insert(row);
  await tx.events.append({ type: "schedule.fired", session: null, data: { schedule: row.schedule, firing: row } }, now);
  return { firings: [row.id], fires: row.manual ? 0 : 1 };
}

async function skipped(tx: StoreTx, firing: Firing, reason: string, now: number): Promise<ClaimedFirings> {
  const row: Firing = { ...firing, status: "skipped", error: reason, ended_at: now };
  await tx.firings.insert(row);
  await tx.events.append(
    { type: "schedule.skipped", session: null, data: { schedule: row.schedule, firing: row } },
    now,
  );
  return { firings: [], fires: 0 };
}

function newFiring({ name, settings, now }: ClaimContext, of: Pick<Firing, "slot" | "late" | "manual">): Firing {
  return {
    id: newId("fir", now),
    schedule: name,
    ...of,
    status: "claimed",
    action: settings.action,
    timeout: settings.timeout,
    effect: null,
    stopping: null,
    result: null,
    error: null,
    claimed_at: now,
    started_at: null,
    ended_at: null,
  };
}
