/** What is kept of queues. */
import type { QueueSettings } from "../../contract/task.ts";
import type { QueueRow, QueueTable } from "../store.ts";
import type { Sql } from "./connection.ts";

/** As stored: settings are JSON, SQLite has no booleans. */
type Stored = { name: string; settings: string | null; paused: number };

const select = "SELECT name, settings, paused FROM queues";

export class SqliteQueues implements QueueTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(name: string): Promise<QueueRow | null> {
    const stored = this.#sql.get<Stored>(`${select} WHERE name = ?`, name);
    return stored === undefined ? null : fromStored(stored);
  }

  async list(): Promise<QueueRow[]> {
    return this.#sql.all<Stored>(`${select} ORDER BY name`).map(fromStored);
  }

  async put({ name, settings, paused }: QueueRow): Promise<void> {
    const text = settings === null ? null : JSON.stringify(settings);
    this.#sql.run(
      "INSERT OR REPLACE INTO queues (name, settings, paused) VALUES (?, ?, ?)",
      name,
      text,
      paused ? 1 : 0,
    );
  }

  async remove(name: string): Promise<void> {
    this.#sql.run("DELETE FROM queues WHERE name = ?", name);
  }
}

function fromStored({ name, settings, paused }: Stored): QueueRow {
  return { name, settings: settings === null ? null : (JSON.parse(settings) as QueueSettings), paused: paused === 1 };
}
