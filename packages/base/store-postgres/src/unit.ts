/**
 * One unit's handle on the shared transaction. Units of a transaction start together and take turns: until its turn, a
 * unit only gets as far as its first reads, which are sent immediately and answered when its turn comes. It is valid
 * only while the unit runs, so that a late call cannot write into another unit's part.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import type { Event, NewEvent } from "@aegis/contract/event.ts";
import { ConstraintError, type Eventually, onConstraint, type Sql, type Value } from "@aegis/store/sql/sql.ts";
import type { QueryResult } from "pg";
import { postgresDialect } from "./dialect.ts";
import { postgresError } from "./errors.ts";
import type { Transaction } from "./transaction.ts";

/** Statements that change nothing, so that a unit which sent only these has nothing to undo. */
const isRead = /^\s*SELECT\b/i;
/** Events are stored together, so those that were appended must be stored before one of these reads them. */
const readsEvents = /\bevents\b/;

type Answer = Pick<QueryResult, "rows" | "rowCount">;

export type UnitOptions = {
  node: string | null;
  /** Names the server for people. */
  where: string;
};

export class Unit implements Sql {
  readonly dialect = postgresDialect;
  readonly node: string | null;
  /** The events that the unit appended; published once the commit is durable. */
  readonly events: Event[] = [];
  readonly #where: string;
  readonly #turn = Promise.withResolvers<Transaction>();
  /** Set when its turn has come. */
  #transaction: Transaction | null = null;
  /** Sends its first reads. */
  #early: Transaction | null = null;
  #outcome: Promise<unknown> = Promise.resolve();
  #failure: unknown = null;
  #ended = false;
  #entered = false;
  #hasWritten = false;
  /** Calls of the unit that are not over, and those of them that were sent in its turn. */
  #busy = 0;
  #sent = 0;
  #attempt: Promise<unknown> | null = null;
  #giveUp: ((error: AegisError) => void) | null = null;

  constructor({ node, where }: UnitOptions) {
    this.#where = where;
    this.node = node;
    this.#turn.promise.catch(() => {});
  }

  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Whether the transaction may hold something of the unit, or was aborted by it, and must go back to before it. */
  get mustBeUndone(): boolean {
    return this.#hasWritten || this.#failure !== null || this.#sent > 0;
  }

  /**
   * Why the unit must not commit. Statements whose answers the unit did not need may still fail until the answer to a
   * later statement is there.
   */
  get failure(): unknown {
    return this.#failure;
  }

  /** Starts the work before its turn. `early` is the transaction whose first turn has not come. */
  start(work: () => Promise<unknown>, early: Transaction): void {
    this.#early = early;
    this.#outcome = this.#settle(work);
    this.#outcome.catch(() => {});
  }

  /** Its turn has come. Resolves with the work's outcome. */
  takeTurn(transaction: Transaction): Promise<unknown> {
    this.#transaction = transaction;
    this.#turn.resolve(transaction);
    return this.#outcome;
  }

  /** Its turn does not come. */
  refuse(error: unknown): void {
    this.#turn.reject(error);
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

  /** PostgreSQL aborts the transaction on a failed statement, so this one needs a way back to before it. */
  async attempt(text: string, ...values: Value[]): Promise<number> {
    this.#check();
    const transaction = this.#transaction ?? (await this.#waitForTurn());
    while (this.#attempt !== null) await this.#attempt;
    this.#check();
    const done = Promise.withResolvers<void>();
    this.#attempt = done.promise;
    const { back, sent } = transaction.protectAttempt(!this.#hasWritten);
    this.#entered = true;
    this.#track(sent);
    try {
      return (await this.#send(transaction, text, values, true)).rowCount ?? 0;
    } catch (error) {
      const translated = postgresError(error, this.#where);
      if (!(translated instanceof ConstraintError) || translated.kind !== "reference") throw this.#failed(translated);
      this.#track(back());
      throw translated;
    } finally {
      this.#attempt = null;
      done.resolve();
    }
  }

  async presume(text: string, ...values: Value[]): Promise<boolean> {
    this.#check();
    const transaction = this.#transaction ?? (await this.#waitForTurn());
    while (this.#attempt !== null) await this.#attempt;
    this.#check();
    if (!transaction.mayPresume) return false;
    transaction.presume(() => this.#send(transaction, text, values, true));
    return true;
  }

  /** Does not wait for the server: the project's lock makes the number certain. */
  append(event: NewEvent, at: number): Eventually<Event> {
    this.#check();
    if (this.#transaction !== null) return this.#append(this.#transaction, event, at);
    return this.#waitForTurn().then((transaction) => this.#append(transaction, event, at));
  }

  #append(transaction: Transaction, event: NewEvent, at: number): Event {
    this.#check();
    const numbered = transaction.append({ at, ...event }, JSON.stringify(event.data));
    this.events.push(numbered);
    return numbered;
  }

  /**
   * Resolves with the work's outcome. Rejects work that waits for something else than the store: it would block every
   * other writer.
   */
  async #settle(work: () => Promise<unknown>): Promise<unknown> {
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

  async #run(text: string, values: Value[], writes: boolean): Promise<Answer> {
    this.#check();
    const early = this.#transaction === null && !writes ? (this.#early?.early.ask(text, values) ?? null) : null;
    const transaction = this.#transaction ?? (await this.#waitForTurn());
    while (this.#attempt !== null) await this.#attempt;
    this.#check();
    try {
      const rows = this.#early === transaction ? (early?.rows ?? null) : null;
      if (early !== null && rows !== null && transaction.isCurrent(early)) return { rows, rowCount: rows.length };
      return await this.#send(transaction, text, values, writes);
    } catch (error) {
      throw this.#failed(postgresError(error, this.#where));
    }
  }

  async #waitForTurn(): Promise<Transaction> {
    const end = this.begin();
    try {
      return await this.#turn.promise;
    } finally {
      end();
    }
  }

  async #send(transaction: Transaction, text: string, values: readonly Value[], writes: boolean): Promise<QueryResult> {
    const end = this.begin();
    this.#sent += 1;
    try {
      return await transaction.burst(() => {
        if (!this.#entered || (writes && !this.#hasWritten)) this.#track(transaction.protect(writes));
        this.#entered = true;
        if (readsEvents.test(text)) this.#storeEvents(transaction);
        if (writes) this.#hasWritten = true;
        return transaction.send(text, values);
      });
    } finally {
      this.#sent -= 1;
      end();
    }
  }

  #storeEvents(transaction: Transaction): void {
    const answer = transaction.storeEvents();
    if (answer === null) return;
    this.#hasWritten = true;
    this.#track(answer);
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
