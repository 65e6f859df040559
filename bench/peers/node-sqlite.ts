/**
 * What LangGraph's saver calls of better-sqlite3, over the SQLite that comes with Node. The saver's own code and its SQL
 * stay as they are. better-sqlite3 is a native module that must be downloaded or compiled for each version of Node; the
 * settings below are those it is compiled with, so that as much is written and as often synced as with it.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

/** better-sqlite3 also binds what is undefined. */
type Value = SQLInputValue | undefined;

export class Database {
  readonly #db: DatabaseSync;

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { timeout: 5_000, enableForeignKeyConstraints: true });
    // SQLITE_DEFAULT_WAL_SYNCHRONOUS=1 and SQLITE_DEFAULT_CACHE_SIZE=-16000 in its deps/defines.gypi.
    this.#db.exec("PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000");
  }

  pragma(text: string, options: { simple?: boolean } = {}): unknown {
    const rows = this.#db.prepare(`PRAGMA ${text}`).all();
    return options.simple ? Object.values(rows[0] ?? {})[0] : rows;
  }

  exec(sql: string): this {
    this.#db.exec(sql);
    return this;
  }

  prepare(sql: string): Statement {
    return new Statement(this.#db.prepare(sql));
  }

  transaction<Args extends unknown[], Result>(work: (...args: Args) => Result): (...args: Args) => Result {
    return (...args) => {
      this.#db.exec("BEGIN");
      try {
        const result = work(...args);
        this.#db.exec("COMMIT");
        return result;
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
        throw error;
      }
    };
  }

  close(): void {
    this.#db.close();
  }
}

class Statement {
  readonly #statement: StatementSync;

  constructor(statement: StatementSync) {
    this.#statement = statement;
  }

  get(...values: Value[]): unknown {
    return this.#statement.get(...bound(values));
  }

  all(...values: Value[]): unknown[] {
    return this.#statement.all(...bound(values));
  }

  run(...values: Value[]): unknown {
    return this.#statement.run(...bound(values));
  }
}

function bound(values: readonly Value[]): SQLInputValue[] {
  return values.map((value) => value ?? null);
}
