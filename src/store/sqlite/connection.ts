/** One SQLite connection: statements prepared once, errors turned into ours. */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { AegisError } from "../../contract/errors.ts";
import { DamageError, storeError } from "./errors.ts";

export type Value = null | number | string;

/** What the tables speak to: a connection, or the part of a transaction that belongs to one unit. */
export interface Sql {
  get<Row>(text: string, ...values: Value[]): Row | undefined;
  all<Row>(text: string, ...values: Value[]): Row[];
  /** How many rows changed, and the number of the last one inserted. */
  run(text: string, ...values: Value[]): { changes: number; rowid: number };
}

/** How long a statement waits for another process that holds the database. It blocks the event loop meanwhile. */
const busyTimeoutMs = 2_000;

export class Connection implements Sql {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #onDamage: (error: DamageError) => void;

  constructor(path: string, options: { readOnly?: boolean; onDamage?: (error: DamageError) => void } = {}) {
    this.path = path;
    this.#onDamage = options.onDamage ?? (() => {});
    try {
      this.#db = new DatabaseSync(path, {
        readOnly: options.readOnly ?? false,
        timeout: busyTimeoutMs,
        enableForeignKeyConstraints: true,
      });
    } catch (error) {
      throw storeError(error, path);
    }
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  get<Row>(text: string, ...values: Value[]): Row | undefined {
    try {
      return this.#statement(text).get(...values) as Row | undefined;
    } catch (error) {
      throw this.#translate(error);
    }
  }

  all<Row>(text: string, ...values: Value[]): Row[] {
    try {
      return this.#statement(text).all(...values) as Row[];
    } catch (error) {
      throw this.#translate(error);
    }
  }

  run(text: string, ...values: Value[]): { changes: number; rowid: number } {
    try {
      const result = this.#statement(text).run(...values);
      return { changes: Number(result.changes), rowid: Number(result.lastInsertRowid) };
    } catch (error) {
      throw this.#translate(error);
    }
  }

  /** Several statements at once, none of them kept. */
  exec(text: string): void {
    try {
      this.#db.exec(text);
    } catch (error) {
      throw this.#translate(error);
    }
  }

  close(): void {
    this.#statements.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  #translate(error: unknown): unknown {
    if (!this.#db.isOpen) return new AegisError("unavailable", "the store is closed", { cause: error });
    const translated = storeError(error, this.path);
    if (translated instanceof DamageError) this.#onDamage(translated);
    return translated;
  }

  #statement(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#db.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }
}
