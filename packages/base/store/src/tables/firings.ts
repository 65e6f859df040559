/** Firings of schedules. A slot of a schedule has at most one firing. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { FiringId } from "@aegis/contract/ids.ts";
import type { Firing, FiringStatus } from "@aegis/contract/schedule.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { matching, Table, TableReads } from "../sql/table.ts";

export type FiringFilter = { schedule?: string | undefined; status?: FiringStatus | undefined; limit: number };

export type FiringEnd = Pick<Firing, "result" | "error"> & { status: "ok" | "error" | "skipped"; at: number };

/** A claimed firing starts from its own copy of the action. */
const table = new Table<Firing, { node: string | null }>(
  "firings",
  {
    id: "plain",
    schedule: "name",
    slot: "plain",
    manual: "flag",
    late: "flag",
    status: "plain",
    action: "json whole",
    timeout: "plain",
    effect: "name",
    stopping: "text",
    result: "text",
    error: "text",
    claimed_at: "plain",
    started_at: "plain",
    ended_at: "plain",
  },
  { hidden: { node: "name" } },
);

export class FiringReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: FiringId): Promise<Firing | null> {
    return table.one(this.sql, "WHERE id = ?", id);
  }

  /** The firing of this slot. Manual firings have no slot. */
  atSlot(schedule: string, slot: number): Promise<Firing | null> {
    return table.one(this.sql, "WHERE schedule = ? AND slot = ? AND manual = 0", schedule, slot);
  }

  /** The firing that started this run, task or session. */
  ofEffect(effect: string): Promise<Firing | null> {
    return table.one(this.sql, "WHERE effect = ?", effect);
  }

  /** Newest first. */
  list({ schedule, status, limit }: FiringFilter): Promise<Firing[]> {
    const { where, values } = matching({ schedule, status });
    return table.all(this.sql, `${where} ORDER BY position DESC LIMIT ?`, ...values, limit);
  }

  /** Unfinished firings, oldest first; of all schedules if none is named. */
  unfinished(schedule?: string): Promise<Firing[]> {
    if (schedule === undefined) return table.all(this.sql, "WHERE ended_at IS NULL ORDER BY position");
    return table.all(this.sql, "WHERE ended_at IS NULL AND schedule = ? ORDER BY position", schedule);
  }

  /** Unfinished firings that the node looks after, oldest first. */
  unfinishedOf(node: string | null): Promise<Firing[]> {
    return table.all(this.sql, "WHERE ended_at IS NULL AND node IS NOT DISTINCT FROM ? ORDER BY position", node);
  }

  /** The newest ended firing. */
  last(schedule: string): Promise<Firing | null> {
    const newest = "WHERE schedule = ? AND ended_at IS NOT NULL ORDER BY position DESC LIMIT 1";
    return table.one(this.sql, newest, schedule);
  }

  /** Schedules that have firings. */
  async schedules(): Promise<string[]> {
    const text = "SELECT DISTINCT schedule FROM firings ORDER BY schedule";
    return (await this.sql.all<{ schedule: string }>(text)).map((row) => row.schedule);
  }
}

export class FiringWrites extends FiringReads<RowWriter> {
  /** Throws `conflict` if the id, or the slot of the schedule, already exists. */
  async insert(firing: Firing): Promise<void> {
    await this.sql.insert(
      table,
      { ...firing, node: this.sql.node },
      {
        taken: `the firing ${firing.id} of ${firing.schedule}, or its slot, is already recorded`,
      },
    );
  }

  async update(
    id: FiringId,
    change: Partial<Omit<Firing, "id" | "schedule" | "slot" | "manual" | "action">>,
  ): Promise<void> {
    const { node } = this.sql;
    // The node that lets a waiting firing begin looks after it.
    const all = change.status === "claimed" && node !== null ? { ...change, node } : change;
    if (!(await this.sql.update(table, all, ["id = ?", id]))) throw new AegisError("not_found", `no firing ${id}`);
  }

  /** Throws `conflict` if the firing has already ended. */
  async end(id: FiringId, { status, result, error, at }: FiringEnd): Promise<void> {
    const change = { status, result, error, ended_at: at };
    if (!(await this.sql.update(table, change, ["id = ? AND ended_at IS NULL", id])))
      throw new AegisError("conflict", `the firing ${id} is over, or there is none`);
  }
}
