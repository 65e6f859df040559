/** Signals to runs, in order of arrival. */
import type { RunId } from "@aegis/contract/ids.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

/** A signal sent to a run. It waits until the run receives one with its name. */
export type SignalRow = {
  run: RunId;
  /** An idempotency key, chosen by the sender. */
  key: string;
  name: string;
  /** JSON. */
  value: string;
};

/** A signal's value is the result of the step that received it. */
const table = new Table<SignalRow, { taken: boolean }>(
  "signals",
  { run: "plain", key: "name", name: "name", value: "whole" },
  { hidden: { taken: "flag" } },
);

export class SignalReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  /** Signals with this name that were not received yet, oldest first. */
  waiting(run: RunId, name: string): Promise<SignalRow[]> {
    return table.all(this.sql, "WHERE run = ? AND name = ? AND taken = 0 ORDER BY position", run, name);
  }
}

export class SignalWrites extends SignalReads<RowWriter> {
  /** Returns false if the key was used before. */
  add(signal: SignalRow): Promise<boolean> {
    return this.sql.add(table, { ...signal, taken: false }, `no run ${signal.run} to receive "${signal.name}"`);
  }

  async take(run: RunId, key: string): Promise<void> {
    await this.sql.update(table, { taken: true }, ["run = ? AND key = ?", run, key]);
  }
}
