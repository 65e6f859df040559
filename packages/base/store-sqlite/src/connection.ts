/** One SQLite connection. Prepares each statement once and converts errors to contract errors. */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { ReadSql, Value } from "@aegis/store/sql/sql.ts";
import { StoreOverError } from "@aegis/store/transact.ts";
import { sqliteDialect } from "./dialect.ts";
import { DamageError, storeError } from "./errors.ts";

/** How long a statement waits for a lock of another process. It blocks the event loop meanwhile. */
const busyTimeoutMs = 2_000;

export class Connection implements ReadSql {
  readonly dialect = sqliteDialect;
  readonly node = null;
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

  /** One row after the other, for tables of any size. Not cached: the statement is busy until the last row. */
  *iterate<Row>(text: string): Generator<Row, void> {
    try {
      for (const row of this.#db.prepare(text).iterate()) yield row as Row;
    } catch (error) {
      throw this.#translate(error);
    }
  }

  run(text: string, ...values: Value[]): number {
    try {
      return Number(this.#statement(text).run(...values).changes);
    } catch (error) {
      throw this.#translate(error);
    }
  }

  /** Inserts one row. Returns its rowid. */
  insert(text: string, ...values: Value[]): number {
    try {
      return Number(this.#statement(text).run(...values).lastInsertRowid);
    } catch (error) {
      throw this.#translate(error);
    }
  }

  /** Executes several statements. None of them is cached. */
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
    if (!this.#db.isOpen) return new StoreOverError("the store is closed", { cause: error });
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
