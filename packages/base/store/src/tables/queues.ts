/** Queues: run-time settings and pauses. */
import type { QueueSettings } from "@aegis/contract/task.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

/** The stored part of a queue: its settings if it was added at run time, and whether it is paused. */
export type QueueRow = { name: string; settings: QueueSettings | null; paused: boolean };

const table = new Table<QueueRow>("queues", { name: "name", settings: "json name", paused: "flag" });

export class QueueReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(name: string): Promise<QueueRow | null> {
    return table.one(this.sql, "WHERE name = ?", name);
  }

  list(): Promise<QueueRow[]> {
    return table.all(this.sql, "ORDER BY name");
  }
}

export class QueueWrites extends QueueReads<RowWriter> {
  /** Inserts or replaces. */
  put(row: QueueRow): Promise<void> {
    return this.sql.put(table, "name", row);
  }

  async remove(name: string): Promise<void> {
    await this.sql.run("DELETE FROM queues WHERE name = ?", name);
  }
}
