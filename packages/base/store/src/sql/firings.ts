/** Firings of schedules. A slot of a schedule has at most one firing. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { FiringId } from "@aegis/contract/ids.ts";
import type { Firing } from "@aegis/contract/schedule.ts";
import type { FiringEnd, FiringFilter, FiringTable } from "../store.ts";
import { insertInto, insertRow, type Sql, type Value } from "./sql.ts";

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

/** As stored: the action is JSON; SQLite has no booleans. */
type Stored = Record<Column, string | number | null>;

const select = `SELECT ${columns.join(", ")} FROM firings`;
const insert = insertInto("firings", [...columns, "node"]);
const endOpen = "UPDATE firings SET status = ?, result = ?, error = ?, ended_at = ? WHERE id = ? AND ended_at IS NULL";

export class SqlFirings implements FiringTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: FiringId): Promise<Firing | null> {
    return this.#one("WHERE id = ?", id);
  }

  async ofEffect(effect: string): Promise<Firing | null> {
    return this.#one("WHERE effect = ?", effect);
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

  async unfinishedOf(node: string | null): Promise<Firing[]> {
    return this.#all("WHERE ended_at IS NULL AND node IS NOT DISTINCT FROM ? ORDER BY position", node);
  }

  async last(schedule: string): Promise<Firing | null> {
    return this.#one("WHERE schedule = ? AND ended_at IS NOT NULL ORDER BY position DESC LIMIT 1", schedule);
  }

  async schedules(): Promise<string[]> {
    const text = "SELECT DISTINCT schedule FROM firings ORDER BY schedule";
    return (await this.#sql.all<{ schedule: string }>(text)).map((row) => row.schedule);
  }

  async insert(firing: Firing): Promise<void> {
    await insertRow(this.#sql, insert, [...columns.map((column) => toValue(firing[column])), this.#sql.node], {
      taken: `the firing ${firing.id} of ${firing.schedule}, or its slot, is already recorded`,
    });
  }

  async update(id: FiringId, change: Partial<Firing>): Promise<void> {
    const changed = columns.filter((column) => column in change);
    if (changed.length === 0) return;
    const values = changed.map((column) => toValue(change[column]));
    const assigned = changed.map((column) => `${column} = ?`);
    // The node that lets a waiting firing begin looks after it.
    if (change.status === "claimed" && this.#sql.node !== null) {
      assigned.push("node = ?");
      values.push(this.#sql.node);
    }
    const text = `UPDATE firings SET ${assigned.join(", ")} WHERE id = ?`;
    if ((await this.#sql.run(text, ...values, id)) === 0) throw new AegisError("not_found", `no firing ${id}`);
  }

  async end(id: FiringId, { status, result, error, at }: FiringEnd): Promise<void> {
    if ((await this.#sql.run(endOpen, status, result, error, at, id)) > 0) return;
    throw new AegisError("conflict", `the firing ${id} is over, or there is none`);
  }

  async #one(where: string, ...values: Value[]): Promise<Firing | null> {
    const stored = await this.#sql.get<Stored>(`${select} ${where}`, ...values);
    return stored === undefined ? null : fromStored(stored);
  }

  async #all(where: string, ...values: Value[]): Promise<Firing[]> {
    return (await this.#sql.all<Stored>(`${select} ${where}`, ...values)).map(fromStored);
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
