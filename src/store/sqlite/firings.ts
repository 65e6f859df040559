/** Firings of schedules. A slot of a schedule is on record at most once. */
import { AegisError } from "../../contract/errors.ts";
import type { FiringId } from "../../contract/ids.ts";
import type { Firing } from "../../contract/schedule.ts";
import type { FiringEnd, FiringFilter, FiringTable } from "../store.ts";
import type { Sql, Value } from "./connection.ts";
import { onConstraint } from "./errors.ts";

const columns = [
  "id",
  "schedule",
  "slot",
  "manual",
  "late",
  "status",
  "action",
  "timeout",
  "effect",
  "stopping",
  "result",
  "error",
  "claimed_at",
  "started_at",
  "ended_at",
] as const satisfies (keyof Firing)[];
type Column = (typeof columns)[number];

/** As stored: the action is JSON, SQLite has no booleans. */
type Stored = Record<Column, string | number | null>;

const select = `SELECT ${columns.join(", ")} FROM firings`;
const insert = `INSERT INTO firings (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
const endOpen = "UPDATE firings SET status = ?, result = ?, error = ?, ended_at = ? WHERE id = ? AND ended_at IS NULL";

export class SqliteFirings implements FiringTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: FiringId): Promise<Firing | null> {
    return this.#one("WHERE id = ?", id);
  }

  async atSlot(schedule: string, slot: number): Promise<Firing | null> {
    return this.#one("WHERE schedule = ? AND slot = ? AND manual = 0", schedule, slot);
  }

  async list({ schedule, status, limit }: FiringFilter): Promise<Firing[]> {
    const conditions: string[] = [];
    const values: Value[] = [];
    for (const [column, value] of [["schedule", schedule] as const, ["status", status] as const]) {
      if (value === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(value);
    }
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    return this.#all(`${where} ORDER BY position DESC LIMIT ?`, ...values, limit);
  }

  async unfinished(schedule?: string): Promise<Firing[]> {
    if (schedule === undefined) return this.#all("WHERE ended_at IS NULL ORDER BY position");
    return this.#all("WHERE ended_at IS NULL AND schedule = ? ORDER BY position", schedule);
  }

  async last(schedule: string): Promise<Firing | null> {
    return this.#one("WHERE schedule = ? AND ended_at IS NOT NULL ORDER BY position DESC LIMIT 1", schedule);
  }

  async schedules(): Promise<string[]> {
    const text = "SELECT DISTINCT schedule FROM firings ORDER BY schedule";
    return this.#sql.all<{ schedule: string }>(text).map((row) => row.schedule);
  }

  async insert(firing: Firing): Promise<void> {
    try {
      this.#sql.run(insert, ...columns.map((column) => toValue(firing[column])));
    } catch (error) {
      throw onConstraint(error, { unique: `the firing ${firing.id} of ${firing.schedule}, or its slot, is on record` });
    }
  }

  async update(id: FiringId, change: Partial<Firing>): Promise<void> {
    const changed = columns.filter((column) => column in change);
    if (changed.length === 0) return;
    const values = changed.map((column) => toValue(change[column]));
    const text = `UPDATE firings SET ${changed.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`;
    if (this.#sql.run(text, ...values, id).changes === 0) throw new AegisError("not_found", `no firing ${id}`);
  }

  async end(id: FiringId, { status, result, error, at }: FiringEnd): Promise<void> {
    if (this.#sql.run(endOpen, status, result, error, at, id).changes > 0) return;
    throw new AegisError("conflict", `the firing ${id} is over, or there is none`);
  }

  #one(where: string, ...values: Value[]): Firing | null {
    const stored = this.#sql.get<Stored>(`${select} ${where}`, ...values);
    return stored === undefined ? null : fromStored(stored);
  }

  #all(where: string, ...values: Value[]): Firing[] {
    return this.#sql.all<Stored>(`${select} ${where}`, ...values).map(fromStored);
  }
}

function toValue(value: Firing[Column] | undefined): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "object" ? JSON.stringify(value) : value;
}

function fromStored(stored: Stored): Firing {
  const { action, manual, late } = stored;
  return { ...stored, action: JSON.parse(String(action)), manual: manual === 1, late: late === 1 } as Firing;
}
