/**
 * Looks after the subagents at work: ends one when its last turn is over or its time is, whatever its harness does, and
 * sees to it that what was closed is gone.
 */
import type { Event } from "../../contract/event.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { Persist } from "../../store/persist.ts";
import type { Store, StoreTx, SubagentRow } from "../../store/store.ts";
import type { Conversations } from "../sessions/conversations.ts";
import { Drains } from "../sessions/drains.ts";
import { lastWords } from "../sessions/last-words.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Ended, Endings } from "./endings.ts";
import { judge, type StillWaiting } from "./judge.ts";

export type WatchOptions = {
  store: Store;
  persist: Persist;
  clock: Clock;
  log: Logger;
  sessions: Sessions;
  conversations: Conversations;
  endings: Endings;
  waiting: readonly StillWaiting[];
};

/** A harness that does not go away must not hold up whoever ended it. */
const leaveDeadlineMs = 30_000;
/** Timers count in 32 bits. */
const longestSleepMs = 3_600_000;

export class Watch {
  readonly #options: WatchOptions;
  readonly #watched = new Map<SessionId, { runId: string; timer: AbortController }>();
  readonly #checks: Drains;
  readonly #farewells = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#checks = new Drains(
      (session) => this.#examine(session),
      (session, error) => {
        if (!this.#stop.signal.aborted) {
          options.log.error("a subagent could not be looked after", { session, error: errorText(error) });
        }
      },
    );
  }

  /** From now on its end is noticed. */
  add(row: SubagentRow): void {
    if (this.#stop.signal.aborted || this.#watched.has(row.session)) return;
    const timer = new AbortController();
    this.#watched.set(row.session, { runId: row.run_id, timer });
    this.#expire(row, timer.signal).catch((error: unknown) => {
      if (timer.signal.aborted) return;
      this.#options.log.error("a subagent's time limit failed", { run: row.run_id, error: errorText(error) });
    });
    this.#checks.wake(row.session);
  }

  /** Hints only: what is on record decides. */
  notice(events: readonly Event[]): void {
    for (const event of events) {
      if (event.session !== null && hints.has(event.type) && this.#watched.has(event.session)) {
        this.#checks.wake(event.session);
      }
    }
  }

  /** Ends it by the transaction's decision and does what follows. Null when there was nothing to end. */
  async end(decide: (tx: StoreTx) => Promise<Ended | null>): Promise<Ended | null> {
    const ended = await this.#options.persist(decide);
    if (ended === null) return null;
    for (const row of ended.rows) this.#forget(row.session);
    if (ended.told) this.#options.sessions.wake(ended.told);
    await Promise.all(ended.closed.map((closed) => this.leave(closed)));
    return ended;
  }

  /** Resolves when the closed session's processes are gone, or a deadline has passed. */
  async leave(closed: Ended["closed"][number]): Promise<void> {
    const { sessions, clock, log } = this.#options;
    const patience = new AbortController();
    const leaving = sessions.leave(closed).catch((error: unknown) => {
      log.warn("a subagent did not leave cleanly", { session: closed.id, error: errorText(error) });
    });
    const farewell = Promise.race([leaving, clock.sleep(leaveDeadlineMs, patience.signal).catch(() => {})]);
    this.#farewells.add(farewell);
    await farewell;
    patience.abort();
    this.#farewells.delete(farewell);
  }

  /** No more time limits: what is still at work is left to the next start. */
  stop(): void {
    this.#stop.abort();
    for (const { timer } of this.#watched.values()) timer.abort();
  }

  /** Resolves when everything that had ended is on record and gone. */
  async settled(): Promise<void> {
    await this.#checks.stop();
    await Promise.all(this.#farewells);
  }

  #forget(session: SessionId): void {
    this.#watched.get(session)?.timer.abort();
    this.#watched.delete(session);
  }

  async #examine(session: SessionId): Promise<void> {
    const watched = this.#watched.get(session);
    if (!watched) return;
    const row = await this.#options.store.read.subagents.get(watched.runId);
    if (row?.status !== "running") return this.#forget(session);
    if (await this.#waits(row)) return;
    const ended = await this.end(async (tx) => {
      const ending = await judge(tx, row);
      return ending === null ? null : this.#options.endings.end(tx, row.run_id, ending);
    });
    // A session that is kept to be read needs no process meanwhile.
    if (ended !== null && ended.closed.length === 0) await this.#options.conversations.close(session);
  }

  /** Questions of a session that is closed have no bearing on its end. */
  async #waits(row: SubagentRow): Promise<boolean> {
    const ending = await judge(this.#options.store.read, row);
    if (ending?.status !== "done") return ending === null;
    for (const waits of this.#options.waiting) if ((await waits(row.session)).length > 0) return true;
    return false;
  }

  async #expire(row: SubagentRow, signal: AbortSignal): Promise<void> {
    const { clock, endings } = this.#options;
    for (let left = row.deadline - clock.now(); left > 0; left = row.deadline - clock.now()) {
      await clock.sleep(Math.min(left, longestSleepMs), signal);
    }
    await this.end(async (tx) => {
      const { run_id, session, timeout } = await highestExpired(tx, row, clock.now());
      const result = await lastWords(tx, session);
      return endings.end(tx, run_id, { status: "timeout", result, error: `Timed out after ${timeout}s` });
    });
  }
}

/** Whoever got the rest of its parent's time ends with it, not a moment before as a result that nobody reads. */
async function highestExpired(tx: StoreTx, row: SubagentRow, now: number): Promise<SubagentRow> {
  const above = await tx.subagents.ofSession(row.parent);
  const isOver = above?.status === "running" && above.deadline <= now;
  return isOver ? highestExpired(tx, above, now) : row;
}

/** Events of a session after which it may have ended; the end of a child is an event of its parent. */
const hints: ReadonlySet<Event["type"]> = new Set<Event["type"]>([
  "turn.ended",
  "session.closed",
  "message.cancelled",
  "ask.settled",
  "subagent.ended",
]);
