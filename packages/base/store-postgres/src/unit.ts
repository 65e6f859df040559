/**
 * One unit's handle on the shared transaction. It is valid only while the unit runs, so that a late call cannot write
 * into another unit's part.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import type { Event, NewEvent } from "@aegis/contract/event.ts";
import { ConstraintError, onConstraint, type Sql, type Value } from "@aegis/store/sql/sql.ts";
import type { QueryResult } from "pg";
import { postgresDialect } from "./dialect.ts";
import { postgresError } from "./errors.ts";
import type { Transaction } from "./transaction.ts";

/** Statements that change nothing, so that a unit which sent only these has nothing to undo. */
const isRead = /^\s*SELECT\b/i;
/** Events are stored together, so those that were appended must be stored before one of these reads them. */
const readsEvents = /\bevents\b/;

export type UnitOptions = {
  transaction: Transaction;
  /** Names the server for people. */
  where: string;
};

export class PostgresUnit implements Sql {
  readonly dialect = postgresDialect;
  readonly node: string | null;
  /** The events that the unit appended; published once the commit is durable. */
  readonly events: Event[] = [];
  readonly #transaction: Transaction;
  readonly #where: string;
  #failure: unknown = null;
  #ended = false;
  #entered = false;
  #hasWritten = false;
  /** A savepoint since which the unit wrote nothing. */
  #cleanPoint: "unit" | "attempt" | null = null;
  #busy = 0;
  #attempt: Promise<unknown> | null = null;
  #giveUp: ((error: AegisError) => void) | null = null;

  constructor({ transaction, where }: UnitOptions) {
    this.#transaction = transaction;
    this.#where = where;
    this.node = transaction.node;
  }

  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Whether the transaction may hold something of the unit, or was aborted by it, and must go back to before it. */
  get mustBeUndone(): boolean {
    return this.#hasWritten || this.#failure !== null || this.#busy > 0;
  }

  /**
   * Why the unit must not commit. Statements whose answers the unit did not need may still fail until the answer to a
   * later statement is there.
   */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Resolves with the work's outcome. Rejects work that waits for something else than the store: it would block every
   * other writer.
   */
  async settle<T>(work: () => Promise<T>): Promise<T> {
    try {
      const stuck = Promise.withResolvers<never>();
      this.#giveUp = stuck.reject;
      this.#watch();
      const value = await Promise.race([work(), stuck.promise]);
      if (this.#failure !== null) throw this.#failure;
      return value;
    } finally {
      this.#ended = true;
      this.#giveUp = null;
    }
  }

  /** Counts work of the store on behalf of this unit. Returns a function that ends it. */
  begin(): () => void {
    this.#busy += 1;
    return () => {
      this.#busy -= 1;
      this.#watch();
    };
  }

  async get<Row>(text: string, ...values: Value[]): Promise<Row | undefined> {
    return (await this.#run(text, values, !isRead.test(text))).rows[0] as Row | undefined;
  }

  async all<Row>(text: string, ...values: Value[]): Promise<Row[]> {
    return (await this.#run(text, values, !isRead.test(text))).rows as Row[];
  }

  async run(text: string, ...values: Value[]): Promise<number> {
    return (await this.#run(text, values, true)).rowCount ?? 0;
  }

  /** PostgreSQL aborts the transaction on a failed statement, so this one needs a savepoint before it. */
  async attempt(text: string, ...values: Value[]): Promise<number> {
    while (this.#attempt !== null) await this.#attempt;
    this.#check();
    const done = Promise.withResolvers<void>();
    this.#attempt = done.promise;
    const point = this.#savepoint();
    try {
      return (await this.#send(text, values, true)).rowCount ?? 0;
    } catch (error) {
      const translated = postgresError(error, this.#where);
      if (!(translated instanceof ConstraintError) || translated.kind !== "reference") throw this.#failed(translated);
      this.#track(this.#transaction.sendPlain(`ROLLBACK TO ${point}`));
      this.#cleanPoint = point;
      throw translated;
    } finally {
      this.#attempt = null;
      done.resolve();
    }
  }

  /** Does not wait for the server: the project's lock makes the number certain. */
  append(event: NewEvent, at: number): Event {
    this.#check();
    const numbered = this.#transaction.append({ at, ...event }, JSON.stringify(event.data));
    this.events.push(numbered);
    return numbered;
  }

  async #run(text: string, values: Value[], writes: boolean): Promise<QueryResult> {
    while (this.#attempt !== null) await this.#attempt;
    this.#check();
    try {
      return await this.#send(text, values, writes);
    } catch (error) {
      throw this.#failed(postgresError(error, this.#where));
    }
  }

  async #send(text: string, values: readonly Value[], writes: boolean): Promise<QueryResult> {
    this.#enter(false);
    if (readsEvents.test(text)) this.#storeEvents();
    if (writes) this.#wrote();
    const end = this.begin();
    try {
      return await this.#transaction.send(text, values);
    } finally {
      end();
    }
  }

  /** Before the first statement. */
  #enter(isNeeded: boolean): void {
    if (this.#entered && !isNeeded) return;
    this.#entered = true;
    this.#track(this.#transaction.enterUnit(isNeeded));
    if (this.#transaction.hasSavepoint) this.#cleanPoint = "unit";
  }

  /** Makes sure that a savepoint exists since which the unit wrote nothing. Returns its name. */
  #savepoint(): "unit" | "attempt" {
    if (!this.#hasWritten) this.#enter(true);
    if (this.#cleanPoint !== null) return this.#cleanPoint;
    this.#track(this.#transaction.sendPlain("SAVEPOINT attempt"));
    return "attempt";
  }

  #storeEvents(): void {
    const answer = this.#transaction.storeEvents();
    if (answer === null) return;
    this.#wrote();
    this.#track(answer);
  }

  #wrote(): void {
    this.#hasWritten = true;
    this.#cleanPoint = null;
  }

  #track(answer: Promise<unknown> | null): void {
    answer?.catch((error: unknown) => this.#failed(postgresError(error, this.#where)));
  }

  /** After the loop has turned twice with no pending statement, the unit can only be waiting for something else. */
  #watch(): void {
    if (this.#busy > 0 || this.#ended) return;
    setImmediate(() =>
      setImmediate(() => {
        if (this.#busy > 0 || this.#ended) return;
        this.#ended = true;
        this.#giveUp?.(
          new AegisError("internal", "a transaction may only await the store: this one waited for something else", {
            hint: "do the waiting before or after the transaction",
          }),
        );
      }),
    );
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#ended) throw new AegisError("internal", "this transaction is over: a call was made after its unit ended");
  }

  /** Returns the error for the caller: after a failed statement, every later one only reports an aborted transaction. */
  #failed(error: unknown): unknown {
    if (this.#failure !== null) return this.#failure;
    this.#failure = onConstraint(error);
    return error;
  }
}
