/** Queues: run-time settings and pauses. */
import type { QueueSettings } from "@aegis/contract/task.ts";
import type { QueueRow, QueueTable } from "../store.ts";
import type { Sql } from "./sql.ts";

/** As stored: settings are JSON; SQLite has no booleans. */
type Stored = { name: string; settings: string | null; paused: number };

const select = "SELECT name, settings, paused FROM queues";
const put = `INSERT INTO queues (name, settings, paused) VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET settings = excluded.settings, paused = excluded.paused`;

export class SqlQueues implements QueueTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(name: string): Promise<QueueRow | null> {
    const stored = await this.#sql.get<Stored>(`${select} WHERE name = ?`, name);
    return stored === undefined ? null : fromStored(stored);
  }

  async list(): Promise<QueueRow[]> {
    return (await this.#sql.all<Stored>(`${select} ORDER BY name`)).map(fromStored);
  }

  async put({ name, settings, paused }: QueueRow): Promise<void> {
    const text = settings === null ? null : JSON.stringify(settings);
    await this.#sql.run(put, name, text, paused ? 1 : 0);
  }

  async remove(name: string): Promise<void> {
    await this.#sql.run("DELETE FROM queues WHERE name = ?", name);
  }
}

function fromStored({ name, settings, paused }: Stored): QueueRow {
  return { name, settings: settings === null ? null : (JSON.parse(settings) as QueueSettings), paused: paused === 1 };
}
