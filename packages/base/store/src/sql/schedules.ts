/** Schedules: the progress of each. */
import type { ScheduleSettings } from "@aegis/contract/schedule.ts";
import type { ScheduleRow, ScheduleTable } from "../store.ts";
import type { Sql } from "./sql.ts";

type Stored = Omit<ScheduleRow, "settings"> & { settings: string };

const select = "SELECT name, settings, cursor, fires, since FROM schedules";
const put = `INSERT INTO schedules (name, settings, cursor, fires, since) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET settings = excluded.settings, cursor = excluded.cursor, fires = excluded.fires,
    since = excluded.since`;

export class SqlSchedules implements ScheduleTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(name: string): Promise<ScheduleRow | null> {
    const stored = await this.#sql.get<Stored>(`${select} WHERE name = ?`, name);
    return stored === undefined ? null : fromStored(stored);
  }

  async list(): Promise<ScheduleRow[]> {
    return (await this.#sql.all<Stored>(`${select} ORDER BY name`)).map(fromStored);
  }

  async put({ name, settings, cursor, fires, since }: ScheduleRow): Promise<void> {
    await this.#sql.run(put, name, JSON.stringify(settings), cursor, fires, since);
  }

  async remove(name: string): Promise<void> {
    await this.#sql.run("DELETE FROM schedules WHERE name = ?", name);
  }
}

function fromStored(stored: Stored): ScheduleRow {
  return { ...stored, settings: JSON.parse(stored.settings) as ScheduleSettings };
}
