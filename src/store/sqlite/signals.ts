/** Signals to runs, in the order they came. */
import type { RunId } from "../../contract/ids.ts";
import type { SignalRow, SignalTable } from "../store.ts";
import type { Sql } from "./connection.ts";
import { onConstraint } from "./errors.ts";

export class SqliteSignals implements SignalTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async waiting(run: RunId, name: string): Promise<SignalRow[]> {
    const text = "SELECT run, key, name, value FROM signals WHERE run = ? AND name = ? AND taken = 0 ORDER BY position";
    return this.#sql.all<SignalRow>(text, run, name);
  }

  async add({ run, key, name, value }: SignalRow): Promise<boolean> {
    try {
      const text = `INSERT INTO signals (run, key, name, taken, value) VALUES (?, ?, ?, 0, ?)
        ON CONFLICT (run, key) DO NOTHING`;
      return this.#sql.run(text, run, key, name, value).changes > 0;
    } catch (error) {
      throw onConstraint(error, { reference: `no run ${run} to be told "${name}"` });
    }
  }

  async take(run: RunId, key: string): Promise<void> {
    this.#sql.run("UPDATE signals SET taken = 1 WHERE run = ? AND key = ?", run, key);
  }
}
