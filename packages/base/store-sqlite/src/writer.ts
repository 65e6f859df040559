/**
 * Group commit. Units that are queued when the writer runs share one transaction and one fsync, each with its own
 * savepoint. An idle writer waits only for the end of the current event-loop turn.
 */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { StoreOverError } from "@aegis/store/transact.ts";
import type { Connection } from "./connection.ts";
import { SqliteUnit } from "./unit.ts";

/** A larger batch would block the event loop. */
const maxBatch = 1_000;

type Job = {
  work: (unit: SqliteUnit) => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};
type Done = { job: Job; value: unknown; events: readonly Event[] };

export type SqliteWriterOptions = {
  connection: Connection;
  /** Receives committed events once they are durable. */
  publish: (events: readonly Event[]) => void;
  /** Called after each commit, when no transaction is open. Must not throw. */
  committed: () => void;
  log: Logger;
};

export class SqliteWriter {
  readonly #options: SqliteWriterOptions;
  readonly #connection: Connection;
  #waiting: Job[] = [];
  #draining: Promise<void> | null = null;
  #closed = false;
  #giveUp: (() => void) | null = null;

  constructor(options: SqliteWriterOptions) {
    this.#options = options;
    this.#connection = options.connection;
  }

  submit<T>(work: (unit: SqliteUnit) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreOverError("the store is closed"));
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: (value) => resolve(value as T), reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Rejects new units and resolves when the queued ones have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      const jobs = this.#waiting;
      this.#waiting = jobs.length > maxBatch ? jobs.splice(maxBatch) : [];
      await this.#runBatch(jobs);
    }
    this.#draining = null;
  }

  async #runBatch(jobs: Job[]): Promise<void> {
    const done: Done[] = [];
    const watch = this.#watch();
    for (const [index, job] of jobs.entries()) {
      try {
        this.#enter(done);
      } catch (error) {
        this.#abandon(done, error);
        for (const rest of jobs.slice(index)) rest.reject(error);
        break;
      }
      await this.#runUnit(job, done);
    }
    watch.stop();
    this.#commit(done);
  }

  async #runUnit(job: Job, done: Done[]): Promise<void> {
    const unit = new SqliteUnit(this.#connection);
    try {
      const value = await this.#settle(job.work(unit));
      if (unit.failure !== null) throw unit.failure;
      unit.end();
      if (done.length > 0) this.#connection.run("RELEASE unit");
      done.push({ job, value, events: unit.events });
    } catch (error) {
      unit.end();
      this.#undo(done, error);
      job.reject(error);
    }
  }

  /**
   * Resolves with the work's outcome, or rejects it if it is still pending after everything that can settle without
   * I/O.
   */
  #settle(work: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#giveUp = () =>
        reject(
          new AegisError("internal", "a transaction may only await the store: this one waited for something else", {
            hint: "do the waiting before or after the transaction",
          }),
        );
      work.then(resolve, reject);
    });
  }

  /**
   * Every store call of a unit settles within the microtasks of this event-loop turn. A unit that is still pending in
   * the next turn waits for something else and would block all other units.
   */
  #watch(): { stop(): void } {
    const check = () => {
      this.#giveUp?.();
      timer = setImmediate(check);
    };
    let timer = setImmediate(check);
    return {
      stop: () => {
        clearImmediate(timer);
        this.#giveUp = null;
      },
    };
  }

  /** The first unit can be undone by rolling back the transaction; only the later ones need a savepoint. */
  #enter(done: Done[]): void {
    if (!this.#connection.inTransaction) this.#connection.run("BEGIN IMMEDIATE");
    if (done.length > 0) this.#connection.run("SAVEPOINT unit");
  }

  #undo(done: Done[], reason: unknown): void {
    if (!this.#connection.inTransaction) {
      // After some failures, SQLite rolls back the whole transaction by itself.
      this.#abandon(done, reason);
      return;
    }
    try {
      if (done.length === 0) {
        this.#connection.run("ROLLBACK");
      } else {
        this.#connection.run("ROLLBACK TO unit");
        this.#connection.run("RELEASE unit");
      }
    } catch (error) {
      this.#abandon(done, error);
    }
  }

  #commit(done: Done[]): void {
    if (!this.#connection.inTransaction) return;
    try {
      this.#connection.run("COMMIT");
    } catch (error) {
      this.#abandon(done, error);
      return;
    }
    const events = done.length === 1 ? done[0]?.events : done.flatMap((unit) => unit.events);
    if (events !== undefined && events.length > 0) this.#options.publish(events);
    for (const { job, value } of done) job.resolve(value);
    this.#options.committed();
  }

  /** Rolls back the whole transaction: none of its units is stored. */
  #abandon(done: Done[], reason: unknown): void {
    try {
      if (this.#connection.inTransaction) this.#connection.run("ROLLBACK");
    } catch (error) {
      this.#options.log.error("the store could not undo a failed transaction", { error: errorText(error) });
    }
    for (const { job } of done) job.reject(reason);
    done.length = 0;
  }
}
