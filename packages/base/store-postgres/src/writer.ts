/**
 * Group commit under the project's lock. Units that are queued when the writer runs share one transaction, in which
 * each can be undone alone. The lock makes the units of all nodes serial, which also makes event numbers free of gaps
 * and equal to the order of commits. Statements are pipelined: only those whose answer a unit needs cost a round trip,
 * and the first reads of all units of a transaction cost one together.
 *
 * Units that share a transaction do not wait for the answers to their inserts either: they go on as if each had inserted
 * its row. The answers are examined before the commit. If one of them is another, the transaction is rolled back, and
 * its units run again and wait for each answer. No caller hears of the first run.
 *
 * PostgreSQL decides the outcome of a commit whose answer was lost (`pg_xact_status`). Until that is known, callers
 * wait; a unit whose commit was requested is never run again.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { type Backoff, backoffMs } from "@aegis/lib/backoff.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { StoreOverError } from "@aegis/store/transact.ts";
import type { Client } from "pg";
import type { Connections } from "./connections.ts";
import { isTransient, postgresError } from "./errors.ts";
import type { Membership } from "./membership.ts";
import { fateOf, timelineOf } from "./outcome.ts";
import { Statements } from "./statements.ts";
import { Transaction } from "./transaction.ts";
import { Unit } from "./unit.ts";

/** A larger batch would hold the lock for too long. */
const maxBatch = 200;
/** How long an attempt to begin is repeated before its units fail. Nothing of them has run by then. */
const beginForMs = 10_000;
const backoff: Backoff = { firstMs: 50, longestMs: 1_000 };

type Job = {
  work: (unit: Unit) => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};
/** A job with its part of a transaction. */
type Share = { job: Job; unit: Unit };
type Done = Share & { value: unknown };
type Plan = {
  /** Starts units that have not started, so that their first reads are sent in this transaction. */
  start: (transaction: Transaction) => void;
  isShared: boolean;
  mayPresume: boolean;
};

export type WriterOptions = {
  connections: Connections;
  /** The unit on whose behalf code runs. */
  scope: AsyncLocalStorage<Unit>;
  /** Publishes committed events. Resolves when the feed has them. */
  publish: (events: readonly Event[]) => Promise<void>;
  /** The lease that each transaction checks; null for a store that is no node. */
  membership: Membership | null;
  /** Throws if the log ends before an event that was published. `seq` is the number of its last event. */
  requireHistory: (seq: number) => void;
  clock: Clock;
  log: Logger;
};

export class Writer {
  readonly #options: WriterOptions;
  readonly #closing = new AbortController();
  /** Aborts when the store is closed or the node has lost its lease: nothing waits for the server any longer. */
  readonly #ending: AbortSignal;
  #client: Client | null = null;
  #timeline: string | null = null;
  #statements = new Statements();
  #waiting: Job[] = [];
  #draining: Promise<void> | null = null;
  #closed = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    const { membership } = options;
    this.#ending = AbortSignal.any([this.#closing.signal, ...(membership === null ? [] : [membership.isOver])]);
  }

  submit<T>(work: (unit: Unit) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreOverError("the store is closed"));
    const { membership } = this.#options;
    if (membership?.isOver.aborted) return Promise.reject(membership.fenced());
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: (value) => resolve(value as T), reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Rejects new units and resolves when the queued ones have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    // Tells waiting callers that the server is unavailable.
    this.#closing.abort();
    await this.#draining;
    await this.#client?.end().catch(() => {});
    this.#client = null;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      const jobs = this.#waiting.splice(0, maxBatch);
      await this.#runBatch(jobs);
    }
    this.#draining = null;
  }

  async #runBatch(jobs: readonly Job[]): Promise<void> {
    if (jobs.length > 1 && (await this.#runTogether(jobs, true))) return;
    await this.#runTogether(jobs, false);
  }

  /** Returns false if a presumption of a unit was wrong. Nothing is stored and no job has ended then. */
  async #runTogether(jobs: readonly Job[], mayPresume: boolean): Promise<boolean> {
    const { connections, scope, membership } = this.#options;
    const shares = jobs.map((job): Share => {
      return { job, unit: new Unit({ node: membership?.node ?? null, where: connections.where }) };
    });
    let isStarted = false;
    const start = (transaction: Transaction) => {
      if (isStarted) return;
      isStarted = true;
      for (const { job, unit } of shares) unit.start(() => scope.run(unit, () => job.work(unit)), transaction);
    };
    const plan = { start, isShared: shares.length > 1, mayPresume };
    /** Ends jobs whose outcome does not depend on the commit. */
    const ends: (() => void)[] = [];
    let done: Done[] = [];
    let transaction: Transaction | null = null;
    try {
      for (const share of shares) {
        transaction ??= await this.#begin(plan);
        const outcome = await this.#runUnit(transaction, share, done, ends);
        if (outcome === "presumed wrongly") return await this.#giveUp(transaction, shares);
        if (outcome === "goes on") continue;
        // Rolled back with nothing in it: the units before only read.
        const read = done;
        ends.push(() => resolveAll(read));
        [transaction, done] = [null, []];
      }
      if (transaction !== null && !(await this.#isRight(transaction, done)))
        return await this.#giveUp(transaction, shares);
    } catch (error) {
      // The transaction is gone, and its commit was never requested: nothing of it is stored.
      this.#drop();
      for (const end of ends) end();
      const ended = new Set(done.map(({ job }) => job));
      for (const { job } of done) job.reject(error);
      // One that was rejected before, or had its turn, ignores this.
      for (const { job, unit } of shares) {
        if (ended.has(job)) continue;
        job.reject(error);
        unit.refuse(error);
      }
      return true;
    }
    for (const end of ends) end();
    if (transaction !== null) await this.#commit(transaction, done);
    return true;
  }

  /** Whether everything that the units presumed is so. Sends the events of units that ended with what it waits for. */
  async #isRight(transaction: Transaction, done: readonly Done[] = []): Promise<boolean> {
    if (!transaction.hasPresumed) return true;
    if (done.length > 0 && failureOf(done) === undefined) transaction.presumeEvents();
    return transaction.isPresumedRightly().catch((lost: unknown) => {
      throw postgresError(lost, this.#options.connections.where);
    });
  }

  /** Ends the first run of units, which no caller hears of. */
  async #giveUp(transaction: Transaction, shares: readonly Share[]): Promise<false> {
    await transaction.sendPlain("ROLLBACK").catch(() => this.#drop());
    const over = new AegisError("internal", "this transaction is over: its units run again");
    for (const { unit } of shares) unit.refuse(over);
    return false;
  }

  /** Retries while the server is away or another writer holds the lock for too long. */
  async #begin(plan: Plan): Promise<Transaction> {
    const { clock, log, connections } = this.#options;
    const until = performance.now() + beginForMs;
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#enter(plan);
      } catch (error) {
        this.#drop();
        if (!isTransient(error) || performance.now() >= until || this.#ending.aborted)
          throw postgresError(error, connections.where);
        log.warn("the database does not accept a transaction; trying again", { error: errorText(error) });
        await clock.sleep(backoffMs(backoff, failures), this.#ending).catch(() => {});
      }
    }
  }

  /**
   * One round trip: begins, waits for the lock, and reads what the units need to know. The first reads of the units go
   * along with it.
   */
  async #enter(plan: Plan): Promise<Transaction> {
    const { connections, membership } = this.#options;
    const { start, isShared, mayPresume } = plan;
    if (membership?.isOver.aborted) throw membership.fenced();
    this.#client ??= await this.#connect();
    const client = this.#client;
    const transaction = new Transaction({
      client,
      statements: this.#statements,
      timeline: this.#timeline,
      isShared,
      mayPresume,
      node: membership?.node ?? null,
    });
    const [[, , { rows }], early] = await transaction.burst(() => {
      const begun = client.query("BEGIN");
      const locked = client.query({
        name: "aegis_lock",
        text: "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
        values: [connections.schema],
      });
      const read = client.query<{ id: string; seq: number; held: boolean }>({
        name: "aegis_enter",
        text: `SELECT pg_current_xact_id()::text AS id, (SELECT coalesce(max(seq), 0) FROM events) AS seq,
          $1::text IS NULL OR EXISTS (
            SELECT 1 FROM nodes WHERE name = $1 AND incarnation = $2::bigint AND alive = 1) AS held`,
        values: [membership?.node ?? null, membership?.incarnation ?? null],
      });
      start(transaction);
      // The unit whose read failed is to fail alone, so each read is sent again in its turn.
      const early = transaction.early.send(client).then(
        () => "answered" as const,
        () => "failed" as const,
      );
      return Promise.all([Promise.all([begun, locked, read]), early]);
    });
    const [row] = rows;
    if (row === undefined) throw new AegisError("internal", "the database gave no transaction id");
    // The lock makes this certain until the commit: only a transaction of another node can end the membership.
    if (!row.held && membership !== null) throw membership.fenced();
    this.#options.requireHistory(row.seq);
    if (early === "failed") {
      await transaction.sendPlain("ROLLBACK");
      return this.#enter(plan);
    }
    transaction.begun(row);
    return transaction;
  }

  async #connect(): Promise<Client> {
    const client = await this.#options.connections.connect("writer", (lost) => {
      if (this.#client === lost) this.#drop();
    });
    this.#statements = new Statements();
    this.#timeline = await timelineOf(client);
    return client;
  }

  /** Throws if the transaction is lost. */
  async #runUnit(
    transaction: Transaction,
    { job, unit }: Share,
    done: Done[],
    ends: (() => void)[],
  ): Promise<"goes on" | "rolled back" | "presumed wrongly"> {
    const { connections } = this.#options;
    try {
      const value = await unit.takeTurn(transaction);
      transaction.keep(unit.hasWritten);
      done.push({ job, value, unit });
      return "goes on";
    } catch (error) {
      // The failure may come of a presumption, also of an earlier unit.
      if (!(await this.#isRight(transaction))) return "presumed wrongly";
      // The failure of an earlier unit aborts the transaction also for this one.
      const reason = failureOf(done) ?? error;
      ends.push(() => job.reject(reason));
      if (!unit.mustBeUndone) {
        transaction.forget();
        return "goes on";
      }
      const goesOn = transaction.hasSavepoint;
      // Fails if the connection is lost, and with it the units before this one.
      await (goesOn ? transaction.undo() : transaction.sendPlain("ROLLBACK")).catch((lost: unknown) => {
        throw postgresError(lost, connections.where);
      });
      return goesOn ? "goes on" : "rolled back";
    }
  }

  async #commit(transaction: Transaction, done: readonly Done[]): Promise<void> {
    if (!transaction.holdsWork) {
      await transaction.sendPlain("ROLLBACK").catch(() => this.#drop());
      resolveAll(done);
      return;
    }
    const events = done.flatMap(({ unit }) => unit.events);
    const { connections, publish, log } = this.#options;
    const isSound = failureOf(done) === undefined;
    try {
      const [, result] = await transaction.burst(() => {
        const stored = isSound ? transaction.storeEvents() : null;
        const ended = transaction.sendPlain(isSound ? "COMMIT" : "ROLLBACK");
        if (isSound && events.length > 0) transaction.tell(connections.schema);
        return Promise.all([stored, ended]);
      });
      // A transaction that was aborted on the way answers COMMIT with ROLLBACK.
      if (result.command !== "COMMIT")
        throw failureOf(done) ?? new AegisError("internal", `${connections.where} rolled back a transaction`);
    } catch (error) {
      this.#drop();
      const fate = await fateOf(transaction, events, { ...this.#options, ending: this.#ending });
      if (fate !== "committed") {
        // After a failed statement, every later one only reports that the transaction is aborted.
        const reason = fate === "aborted" ? postgresError(failureOf(done) ?? error, connections.where) : fate;
        for (const { job } of done) job.reject(reason);
        return;
      }
      log.warn("the answer to a commit was lost; the database confirmed the commit", { error: errorText(error) });
    }
    if (events.length > 0) await publish(events);
    resolveAll(done);
  }

  #drop(): void {
    const client = this.#client;
    this.#client = null;
    client?.end().catch(() => {});
  }
}

function resolveAll(done: readonly Done[]): void {
  for (const { job, value } of done) job.resolve(value);
}

/**
 * The first failure of the transaction. A statement may fail after its unit has ended, and later units may have rolled
 * back to before it. Statements after it only report that the transaction is aborted.
 */
function failureOf(done: readonly Done[]): unknown {
  return done.find(({ unit }) => unit.failure !== null)?.unit.failure;
}
