/**
 * Schedules of the project: each slot fires once. A slot is stored before its work starts, and the id of the work is
 * derived from the firing's id, so that a crash neither repeats nor loses it.
 */

import { unknownName } from "@aegis/agents/unknown-name.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { type FiringId, newId } from "@aegis/contract/ids.ts";
import type { Firing, ScheduleSettings, ScheduleView } from "@aegis/contract/schedule.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { FiringFilter, ScheduleRow, Store, StoreTx } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import { type ClaimedFirings, claimManual, claimSlot } from "./claims.ts";
import { Effects, type EffectsOptions } from "./effects.ts";
import { Firings } from "./firings.ts";
import { lookEveryMs, ScheduleTimer } from "./schedule-timer.ts";
import { type Decision, decide, upcoming } from "./slots.ts";
import { bringInStep, newRow } from "./sync.ts";

export type DeclaredSchedule = { settings: ScheduleSettings /** Relative to the project. */; file: string };

export type SchedulesOptions = EffectsOptions & {
  store: Store;
  transact: Transact;
  clock: Clock;
  log: Logger;
  /** The schedules of the current configuration. */
  declared: () => Readonly<Record<string, DeclaredSchedule>>;
  /** Schedule files without effect, with the reason. */
  held: () => HeldSchedule[];
  /** The reason why a schedule must not fire now, or null. Evaluated each time, because consent can be withdrawn. */
  refusal: (name: string) => Promise<string | null>;
  /** Why this node neither decides slots nor stores its schedules, or null. Absent without a cluster. */
  whyHeld?: (tx: StoreTx) => Promise<string | null>;
};

export type HeldSchedule = { name: string; reason: string };

/** Cached state of a schedule, so that nothing is read while nothing is due. */
type Kept = { row: ScheduleRow; next: number | null };

export class Schedules {
  readonly #options: SchedulesOptions;
  readonly #effects: Effects;
  readonly #firings: Firings;
  readonly #timer: ScheduleTimer;
  readonly #kept = new Map<string, Kept>();
  /** Serializes changes, so that each slot is decided with the current configuration. */
  #line: Promise<unknown> = Promise.resolve();
  #recheckAt = 0;
  #isHeld = false;

  constructor(options: SchedulesOptions) {
    this.#options = options;
    this.#effects = new Effects(options);
    const { store, transact, clock, log, refusal } = options;
    this.#timer = new ScheduleTimer({ clock, log, work: () => this.#inLine(() => this.#work()) });
    const onWatch = () => this.#timer.nudge();
    this.#firings = new Firings({ store, transact, clock, log, effects: this.#effects, refusal, onWatch });
  }

  /** Decides slots from now on. */
  async start(): Promise<void> {
    await this.#inLine(() => this.#standUp());
    this.#timer.start();
  }

  /** Continues the firings of this node that have not ended. */
  resume(): Promise<void> {
    return this.#firings.resume();
  }

  /** Whether only other nodes decide slots. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Called after the configuration changed. */
  async settingsChanged(): Promise<void> {
    await this.#inLine(() => this.#standUp());
    this.#timer.nudge();
  }

  /** Stops firing. The next daemon start continues running firings. */
  async stop(): Promise<void> {
    await this.#timer.stop();
    await this.#firings.stop();
  }

  /** Fires now, independent of the clock. Throws `conflict` if an earlier firing runs and overlaps are skipped. */
  async run(name: string, request: { id?: FiringId | undefined } = {}): Promise<Firing> {
    const { settings } = this.#declared(name);
    const { id = newId("fir", this.#options.clock.now()) } = request;
    const refusal = await this.#options.refusal(name);
    if (refusal !== null) throw new AegisError("forbidden", `the schedule "${name}" does not fire: ${refusal}`);
    const claimed = await this.#inLine(() =>
      this.#options.store.transact(async (tx) => {
        const done = await claimManual(tx, { name, settings, now: this.#options.clock.now() }, id);
        const row = await tx.schedules.get(name);
        if (row !== null && done.fires !== 0) await tx.schedules.put({ ...row, fires: row.fires + done.fires });
        return done;
      }),
    );
    this.#lookAfter(claimed);
    return this.firing(id);
  }

  async list(): Promise<ScheduleView[]> {
    return Promise.all(Object.keys(this.#options.declared()).map((name) => this.view(name)));
  }

  held(): HeldSchedule[] {
    return this.#options.held();
  }

  /** Throws `not_found` with the nearest name. */
  async view(name: string): Promise<ScheduleView> {
    const { settings, file } = this.#declared(name);
    const { read } = this.#options.store;
    const row = await this.#row(name, settings);
    const open = await read.firings.unfinished(name);
    const [next = null] = row === null ? [] : upcoming(settings, row, 1);
    return {
      ...settings,
      name,
      file,
      state: next === null ? "done" : settings.enabled ? "on" : "off",
      next_at: settings.enabled ? next : null,
      fires: row?.fires ?? 0,
      running: open.find((firing) => firing.status !== "waiting") ?? null,
      waiting: open.filter((firing) => firing.status === "waiting").length,
      last: await read.firings.last(name),
      problem: await this.#effects.problem(settings.action),
    };
  }

  /** The next firing times; empty while the schedule is disabled. */
  async next(name: string, count: number): Promise<{ timezone: string; times: number[] }> {
    const { settings } = this.#declared(name);
    const row = await this.#row(name, settings);
    const times = row === null || !settings.enabled ? [] : upcoming(settings, row, count);
    return { timezone: settings.timezone, times };
  }

  /** Newest first. Throws `not_found` if the schedule is not declared and never fired. */
  async firings(filter: FiringFilter): Promise<Firing[]> {
    const found = await this.#options.store.read.firings.list(filter);
    if (found.length === 0 && filter.schedule !== undefined) this.#declared(filter.schedule);
    return found;
  }

  async firing(id: FiringId): Promise<Firing> {
    const firing = await this.#options.store.read.firings.get(id);
    if (firing === null) throw new AegisError("not_found", `no firing ${id}`);
    return firing;
  }

  /** Throws with the reason if the action cannot run now. */
  check(action: ScheduleSettings["action"]): Promise<void> {
    return this.#effects.check(action);
  }

  /**
   * The API answers before a start has stored new schedules: then the row that it is about to store. Null if this node
   * stores none.
   */
  async #row(name: string, settings: ScheduleSettings): Promise<ScheduleRow | null> {
    const { store, clock } = this.#options;
    return (await store.read.schedules.get(name)) ?? (this.#isHeld ? null : newRow(name, settings, clock.now()));
  }

  #declared(name: string): DeclaredSchedule {
    const declared = this.#options.declared();
    const found = Object.hasOwn(declared, name) ? declared[name] : undefined;
    if (found !== undefined) return found;
    const held = this.held().find((one) => one.name === name);
    if (held !== undefined) throw new AegisError("forbidden", `the schedule "${name}" has no effect: ${held.reason}`);
    const none = "there are no schedules; add one with: aegis schedule add";
    throw unknownName("schedule", name, Object.keys(declared), none);
  }

  async #standUp(): Promise<void> {
    const { store, clock, declared } = this.#options;
    const settings = Object.fromEntries(Object.entries(declared()).map(([name, entry]) => [name, entry.settings]));
    const now = clock.now();
    const rows = await store.transact(async (tx) => ((await this.#decides(tx)) ? bringInStep(tx, settings, now) : []));
    this.#kept.clear();
    for (const row of rows) this.#keep(row);
  }

  /** Decides all due slots. Returns the time of the next check. */
  async #work(): Promise<number | null> {
    const now = this.#options.clock.now();
    // In parallel, so that schedules that are due together share commits.
    await Promise.all(
      [...this.#kept.values()].map(async ({ row, next }) => {
        if (isAhead(row, now)) await this.#setBack(row, now);
        else if (next !== null && next <= now) await this.#decide(row, now);
      }),
    );
    const deadline = await this.#firings.expire();
    if (now >= this.#recheckAt || this.#recheckAt > now + lookEveryMs) {
      this.#recheckAt = now + lookEveryMs;
      await this.#firings.recheck();
    }
    const times = [...this.#kept.values()].flatMap(({ next }) => next ?? []);
    if (deadline !== null) times.push(deadline);
    if (this.#firings.isWatching) times.push(this.#recheckAt);
    return times.length === 0 ? null : Math.min(...times);
  }

  async #decide({ name }: ScheduleRow, now: number): Promise<void> {
    const refusal = await this.#options.refusal(name);
    const done = await this.#options.store.transact(async (tx) => {
      const row = await this.#rowToDecide(tx, name);
      if (row === null) return null;
      const decisions = decide(row.settings, row, now).map((decision) => refused(decision, refusal));
      const catchesUp = decisions.some((decision) => decision.what === "fire" && decision.late);
      const context = { name, settings: row.settings, now, catchesUp };
      const all: ClaimedFirings = { firings: [], fires: 0 };
      for (const decision of decisions) {
        const claimed = await claimSlot(tx, context, decision);
        all.firings.push(...claimed.firings);
        all.fires += claimed.fires;
      }
      const moved: ScheduleRow = { ...row, cursor: now, fires: row.fires + all.fires };
      await tx.schedules.put(moved);
      return { all, moved };
    });
    if (done === null) {
      this.#kept.delete(name);
      return;
    }
    this.#keep(done.moved);
    this.#lookAfter(done.all);
  }

  /** The clock was set back: slots in between are due again, and stored ones are skipped. */
  async #setBack({ name }: ScheduleRow, now: number): Promise<void> {
    const moved = await this.#options.store.transact(async (tx) => {
      const row = await this.#rowToDecide(tx, name);
      if (row === null) return null;
      await tx.schedules.put({ ...row, cursor: now });
      return { ...row, cursor: now };
    });
    if (moved === null) this.#kept.delete(name);
    else this.#keep(moved);
  }

  /** Null if the schedule was removed, or if this node does not decide its slots. */
  async #rowToDecide(tx: StoreTx, name: string): Promise<ScheduleRow | null> {
    return (await this.#decides(tx)) ? tx.schedules.get(name) : null;
  }

  async #decides(tx: StoreTx): Promise<boolean> {
    const reason = (await this.#options.whyHeld?.(tx)) ?? null;
    const decides = reason === null;
    if (decides === this.#isHeld) {
      const { log } = this.#options;
      if (decides) log.info("this node fires schedules again: it has the settings and the time of the other nodes");
      else log.warn(`this node fires no schedules: ${reason}`);
    }
    this.#isHeld = !decides;
    return decides;
  }

  #keep(row: ScheduleRow): void {
    const [next = null] = row.settings.enabled ? upcoming(row.settings, row, 1) : [];
    this.#kept.set(row.name, { row, next });
  }

  #lookAfter({ firings }: ClaimedFirings): void {
    for (const id of firings) this.#firings.wake(id);
  }

  #inLine<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#line.then(work, work);
    this.#line = result.catch(() => {});
    return result;
  }
}

/** A decided moment lies in the future only if the clock was set back. */
function isAhead({ cursor, settings }: ScheduleRow, now: number): boolean {
  return settings.cron !== null && cursor > now;
}

/** Stores a slot that must not fire as skipped, with the reason. */
function refused(decision: Decision, refusal: string | null): Decision {
  return refusal === null || decision.what === "skip"
    ? decision
    : { what: "skip", slot: decision.slot, reason: refusal };
}
