/**
 * Group commit under the project's lock. Units that are queued when the writer runs share one transaction, in which each
 * can be undone alone. The lock makes the units of all nodes serial, which also makes event numbers free of gaps and
 * equal to the order of commits. Statements are pipelined: only those whose answer a unit needs cost a round trip.
 *
 * PostgreSQL decides the outcome of a commit whose answer was lost (`pg_xact_status`). Until that is known, callers
 * wait; the writer never runs a unit twice.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { Backoff } from "@aegis/lib/backoff.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { retry } from "@aegis/lib/retry.ts";
import { StoreOverError } from "@aegis/store/transact.ts";
import type { Client } from "pg";
import type { Connections } from "./connections.ts";
import { isTransient, postgresError } from "./errors.ts";
import type { Membership } from "./membership.ts";
import { fateOf, timelineOf } from "./outcome.ts";
import { Statements } from "./statements.ts";
import { Transaction } from "./transaction.ts";
import { PostgresUnit } from "./unit.ts";

/** A larger batch would hold the lock for too long. */
const maxBatch = 200;
/** How long an attempt to begin is repeated before its units fail. Nothing of them has run by then. */
const beginForMs = 10_000;
const backoff: Backoff = { firstMs: 50, longestMs: 1_000 };

type Job = {
  work: (unit: PostgresUnit) => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};
type Done = { job: Job; value: unknown; unit: PostgresUnit };

export type PostgresWriterOptions = {
  connections: Connections;
  /** The unit on whose behalf code runs. */
  scope: AsyncLocalStorage<PostgresUnit>;
  /** Publishes committed events. Resolves when the feed has them. */
  publish: (events: readonly Event[]) => Promise<void>;
  /** The lease that each transaction checks; null for a store that is no node. */
  membership: Membership | null;
  /** Throws if the log ends before an event that was published. `seq` is the number of its last event. */
  requireHistory: (seq: number) => void;
  clock: Clock;
  log: Logger;
};

export class PostgresWriter {
  readonly #options: PostgresWriterOptions;
  readonly #closing = new AbortController();
  /** Aborts when the store is closed or the node has lost its lease: nothing waits for the server any longer. */
  readonly #ending: AbortSignal;
  #client: Client | null = null;
  #timeline: string | null = null;
  #statements = new Statements();
  #waiting: Job[] = [];
  #draining: Promise<void> | null = null;
  #closed = false;

  constructor(options: PostgresWriterOptions) {
    this.#options = options;
    const { membership } = options;
    this.#ending = AbortSignal.any([this.#closing.signal, ...(membership === null ? [] : [membership.isOver])]);
  }

  submit<T>(work: (unit: PostgresUnit) => Promise<T>): Promise<T> {
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
    let done: Done[] = [];
    let transaction: Transaction | null = null;
    try {
      for (const job of jobs) {
        transaction ??= await this.#begin();
        if (await this.#runUnit(transaction, job, done)) continue;
        // Rolled back with nothing in it: the units before only read.
        resolveAll(done);
        [transaction, done] = [null, []];
      }
    } catch (error) {
      // The transaction is gone, and its commit was never requested: nothing of it is stored.
      this.#drop();
      const ended = new Set(done.map(({ job }) => job));
      for (const { job } of done) job.reject(error);
      // A job that was rejected before ignores this.
      for (const job of jobs) if (!ended.has(job)) job.reject(error);
      return;
    }
    if (transaction !== null) await this.#commit(transaction, done);
  }

  /** Retries while the server is away or another writer holds the lock for too long. */
  async #begin(): Promise<Transaction> {
    const { clock, log, connections, membership } = this.#options;
    const until = performance.now() + beginForMs;
    const enter = () =>
      this.#enter().catch((error: unknown) => {
        this.#drop();
        throw error;
      });
    const mayRetry = (error: unknown) => isTransient(error) && performance.now() < until;
    const onWait = (error: unknown) =>
      log.warn("the database does not accept a transaction; trying again", { error: errorText(error) });
    try {
      return await retry(enter, { backoff, clock, signal: this.#ending, mayRetry, onWait });
    } catch (error) {
      if (membership?.isOver.aborted && isTransient(error)) throw membership.fenced();
      throw postgresError(error, connections.where);
    }
  }

  /** One round trip: begins, waits for the lock, and reads what the units need to know. */
  async #enter(): Promise<Transaction> {
    const { connections, membership } = this.#options;
    if (membership?.isOver.aborted) throw membership.fenced();
    this.#client ??= await this.#connect();
    const client = this.#client;
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
    const [, , { rows }] = await Promise.all([begun, locked, read]);
    const [row] = rows;
    if (row === undefined) throw new AegisError("internal", "the database gave no transaction id");
    // The lock makes this certain until the commit: only a transaction of another node can end the membership.
    if (!row.held && membership !== null) throw membership.fenced();
    this.#options.requireHistory(row.seq);
    const { id, seq } = row;
    return new Transaction({
      client,
      statements: this.#statements,
      id,
      seq,
      node: membership?.node ?? null,
      timeline: this.#timeline,
    });
  }

  async #connect(): Promise<Client> {
    const client = await this.#options.connections.connect("writer", (lost) => {
      if (this.#client === lost) this.#drop();
    });
    this.#statements = new Statements();
    this.#timeline = await timelineOf(client);
    return client;
  }

  /** Returns whether the transaction can go on. Throws if it is lost. */
  async #runUnit(transaction: Transaction, job: Job, done: Done[]): Promise<boolean> {
    const { connections, scope } = this.#options;
    const unit = new PostgresUnit({ transaction, where: connections.where });
    try {
      const value = await unit.settle(() => scope.run(unit, () => job.work(unit)));
      transaction.keep(unit.hasWritten);
      done.push({ job, value, unit });
      return true;
    } catch (error) {
      // The failure of an earlier unit aborts the transaction also for this one.
      job.reject(failureOf(done) ?? error);
      if (!unit.mustBeUndone) {
        transaction.forget(false);
        return true;
      }
      const goesOn = transaction.hasSavepoint;
      // Fails if the connection is lost, and with it the units before this one.
      await transaction.sendPlain(goesOn ? "ROLLBACK TO unit" : "ROLLBACK").catch((lost: unknown) => {
        throw postgresError(lost, connections.where);
      });
      transaction.forget(true);
      return goesOn;
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
      const stored = isSound ? transaction.storeEvents() : null;
      const ended = transaction.sendPlain(isSound ? "COMMIT" : "ROLLBACK");
      if (isSound && events.length > 0) transaction.tell(connections.schema);
      const [, result] = await Promise.all([stored, ended]);
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
