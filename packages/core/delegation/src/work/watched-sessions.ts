/**
 * The sessions at work for one part. Checks a session after each event that may have ended its work, enforces its
 * deadline, and waits a limited time for an ended session to exit.
 */
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { type Clock, sleepUntil } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { Drains } from "@aegis/lib/serial.ts";
import type { Store } from "@aegis/store/store.ts";
import { whileAway } from "@aegis/store/transact.ts";
import { endEvents } from "./session-events.ts";

export type WatchedSessionsOptions<Work> = {
  store: Store;
  clock: Clock;
  log: Logger;
  /** What such a session is called in the log. */
  name: string;
  /** Decides from stored rows whether the work has ended. Never runs twice at once for one session. */
  check: (session: SessionId, work: Work) => Promise<void>;
  /** Events to check after, besides those that may end the work. */
  alsoAfter?: readonly Event["type"][];
};

/** A harness that does not exit must not delay the part that ended it forever. */
const leaveDeadlineMs = 30_000;

export class WatchedSessions<Work> {
  readonly #options: WatchedSessionsOptions<Work>;
  readonly #sessions = new Map<SessionId, { work: Work; timers: AbortController }>();
  readonly #checks: Drains<SessionId>;
  readonly #leaving = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: WatchedSessionsOptions<Work>) {
    this.#options = options;
    this.#checks = new Drains(
      async (session) => {
        const watched = this.#sessions.get(session);
        if (watched) await this.#whileAway(session, () => options.check(session, watched.work));
      },
      (session, error) => {
        if (this.#stop.signal.aborted) return;
        options.log.error(`a ${options.name} could not be checked`, { session, error: errorText(error) });
      },
    );
    const hints = new Set([...endEvents, ...(options.alsoAfter ?? [])]);
    options.store.onCommit(
      (events) => {
        for (const { session } of events) if (session !== null) this.check(session);
      },
      [...hints],
      "all",
      this.#sessions,
    );
  }

  /** Aborts when no more time limits are enforced. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  get(session: SessionId): Work | undefined {
    return this.#sessions.get(session)?.work;
  }

  /** Aborts when the session is no longer watched. */
  signalOf(session: SessionId): AbortSignal {
    return this.#sessions.get(session)?.timers.signal ?? AbortSignal.abort();
  }

  entries(): [SessionId, Work][] {
    return [...this.#sessions].map(([session, { work }]) => [session, work]);
  }

  /** Calls `expire` at the deadline, unless the session is removed before. */
  add(session: SessionId, work: Work, deadline: number | null, expire: () => Promise<void>): void {
    const { clock, log, name } = this.#options;
    const timers = new AbortController();
    this.#sessions.set(session, { work, timers });
    if (deadline === null) return;
    const expired = sleepUntil(clock, deadline, timers.signal).then(() => this.#whileAway(session, expire));
    expired.catch((error: unknown) => {
      if (timers.signal.aborted) return;
      log.error(`the time limit of a ${name} could not be enforced`, { session, error: errorText(error) });
    });
  }

  /** A hint; it does nothing for a session that is not watched. */
  check(session: SessionId): void {
    if (this.#sessions.has(session)) this.#checks.wake(session);
  }

  checkIn(session: SessionId, ms: number): void {
    const watched = this.#sessions.get(session);
    const again = () => this.check(session);
    if (watched) this.#options.clock.sleep(ms, watched.timers.signal).then(again, () => {});
  }

  remove(session: SessionId): void {
    this.#sessions.get(session)?.timers.abort();
    this.#sessions.delete(session);
  }

  /** Resolves when the session has left, or a deadline has passed. Never rejects. */
  async leave(session: SessionId, left: Promise<void>): Promise<void> {
    const { clock, log, name } = this.#options;
    const patience = new AbortController();
    const leaving = left.catch((error: unknown) => {
      log.warn(`a ${name} did not leave cleanly`, { session, error: errorText(error) });
    });
    const gone = Promise.race([leaving, clock.sleep(leaveDeadlineMs, patience.signal).catch(() => {})]);
    this.#leaving.add(gone);
    await gone;
    patience.abort();
    this.#leaving.delete(gone);
  }

  /** Enforces no more time limits: the next start takes over the work in progress. */
  stop(): void {
    this.#stop.abort();
    for (const { timers } of this.#sessions.values()) timers.abort();
  }

  /** Nothing else would look again soon. */
  #whileAway(session: SessionId, work: () => Promise<void>): Promise<void> {
    const { clock, log, name } = this.#options;
    return whileAway(work, {
      clock,
      log,
      signal: this.#stop.signal,
      what: `a look at a ${name}`,
      details: { session },
    });
  }

  /** Resolves when every end found so far is stored and its session has left. */
  async settled(): Promise<void> {
    await this.#checks.stop();
    await Promise.all(this.#leaving);
  }
}
