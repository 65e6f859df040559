/** Schedules: the progress of each. */
import type { ScheduleSettings } from "@aegis/contract/schedule.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

/** The progress of a schedule. Its definition is in the project's files; `settings` is the last version read. */
export type ScheduleRow = {
  name: string;
  settings: ScheduleSettings;
  /** Every slot up to this time is decided. */
  cursor: number;
  /** The number of firings that count towards its lifecycle. */
  fires: number;
  since: number;
};

const table = new Table<ScheduleRow>("schedules", {
  name: "name",
  settings: "json whole",
  cursor: "plain",
  fires: "plain",
  since: "plain",
});

export class ScheduleReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(name: string): Promise<ScheduleRow | null> {
    return table.one(this.sql, "WHERE name = ?", name);
  }

  /** By name. */
  list(): Promise<ScheduleRow[]> {
    return table.all(this.sql, "ORDER BY name");
  }
}

export class ScheduleWrites extends ScheduleReads<RowWriter> {
  /** Inserts or replaces. */
  put(row: ScheduleRow): Promise<void> {
    return this.sql.put(table, "name", row);
  }

  /** Keeps its firings. */
  async remove(name: string): Promise<void> {
    await this.sql.run("DELETE FROM schedules WHERE name = ?", name);
  }
}
