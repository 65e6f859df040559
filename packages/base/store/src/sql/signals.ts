/** Signals to runs, in order of arrival. */
import type { RunId } from "@aegis/contract/ids.ts";
import type { SignalRow, SignalTable } from "../store.ts";
import { onConstraint, type Sql } from "./sql.ts";

export class SqlSignals implements SignalTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async waiting(run: RunId, name: string): Promise<SignalRow[]> {
    const text = "SELECT run, key, name, value FROM signals WHERE run = ? AND name = ? AND taken = 0 ORDER BY position";
    return await this.#sql.all<SignalRow>(text, run, name);
  }

  async add({ run, key, name, value }: SignalRow): Promise<boolean> {
    try {
      const text = `INSERT INTO signals (run, key, name, taken, value) VALUES (?, ?, ?, 0, ?)
        ON CONFLICT (run, key) DO NOTHING`;
      return (await this.#sql.attempt(text, run, key, name, value)) > 0;
    } catch (error) {
      throw onConstraint(error, `no run ${run} to receive "${name}"`);
    }
  }

  async take(run: RunId, key: string): Promise<void> {
    await this.#sql.run("UPDATE signals SET taken = 1 WHERE run = ? AND key = ?", run, key);
  }
}
