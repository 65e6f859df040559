/** Landings: work of sessions that becomes part of a branch. */
import type { LandingId } from "@aegis/contract/ids.ts";
import type { Landing, LandingState } from "@aegis/contract/landing.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

/** The check is run again after a crash. */
const table = new Table<Landing>("landings", {
  id: "plain",
  session: "plain",
  target: "name",
  how: "plain",
  check: "whole",
  message: "text?",
  state: "plain",
  old: "name",
  tip: "name",
  next: "name",
  exit: "plain",
  tree: "name",
  files: "json name",
  detail: "text",
  created_at: "plain",
  ended_at: "plain",
});

export class LandingReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: LandingId): Promise<Landing | null> {
    return table.one(this.sql, "WHERE id = ?", id);
  }

  /** How many landings are in each state. */
  async counts(): Promise<ReadonlyMap<LandingState, number>> {
    const text = "SELECT state, count(*) AS count FROM landings GROUP BY state";
    const rows = await this.sql.all<{ state: LandingState; count: number }>(text);
    return new Map(rows.map(({ state, count }) => [state, count]));
  }

  /** Newest first. */
  list(limit: number): Promise<Landing[]> {
    return table.all(this.sql, "ORDER BY position DESC LIMIT ?", limit);
  }

  /** Those that have not ended, oldest first. */
  open(): Promise<Landing[]> {
    return table.all(this.sql, "WHERE ended_at IS NULL ORDER BY position");
  }
}

export class LandingWrites extends LandingReads<RowWriter> {
  async insert(row: Landing): Promise<void> {
    await this.sql.insert(table, row, {
      taken: `the landing ${row.id} exists`,
      reference: `no session ${row.session}`,
    });
  }

  /** Replaces the row. */
  async update(row: Landing): Promise<void> {
    await this.sql.update(table, row, ["id = ?", row.id]);
  }
}
