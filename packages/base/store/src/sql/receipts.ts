/** Receipts of checks, in the order in which they began. */
import type { NamedCheck } from "@aegis/contract/check.ts";
import type { ReceiptId, SessionId } from "@aegis/contract/ids.ts";
import type { ReceiptRow, ReceiptTable } from "../store.ts";
import type { Sql, Value } from "./sql.ts";

type Stored = Omit<ReceiptRow, "counts" | "changed"> & { counts: string | null; changed: string };

const columns = [
  ...(["id", "scope", "kind", "subject", "session", "turn", "command", "status", "exit", "duration_ms"] as const),
  ...(["tree", "head", "tail", "counts", "changed", "problem", "message", "started_at", "ended_at"] as const),
] satisfies (keyof ReceiptRow)[];
const select = `SELECT ${columns.join(", ")} FROM receipts`;
const updates = columns.filter((column) => column !== "id").map((column) => `${column} = excluded.${column}`);
const places = columns.map(() => "?").join(", ");
const put = `INSERT INTO receipts (${columns.join(", ")}) VALUES (${places}) ON CONFLICT (id) DO UPDATE SET ${updates.join(", ")}`;

export class SqlReceipts implements ReceiptTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: ReceiptId): Promise<ReceiptRow | null> {
    const found = await this.#sql.get<Stored>(`${select} WHERE id = ?`, id);
    return found === undefined ? null : fromStored(found);
  }

  async list(filter: { subject?: string; session?: SessionId; limit: number }): Promise<ReceiptRow[]> {
    const conditions: string[] = [];
    const values: Value[] = [];
    for (const column of ["subject", "session"] as const) {
      const value = filter[column];
      if (value === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(value);
    }
    const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
    const text = `${select}${where} ORDER BY position DESC LIMIT ?`;
    return (await this.#sql.all<Stored>(text, ...values, filter.limit)).map(fromStored);
  }

  async newest(subjects: readonly string[]): Promise<Map<string, ReceiptRow>> {
    const found = new Map<string, ReceiptRow>();
    for (const subject of subjects) {
      const [row] = await this.list({ subject, limit: 1 });
      if (row !== undefined) found.set(subject, row);
    }
    return found;
  }

  async countReturned(scope: string): Promise<number> {
    const text = "SELECT count(*) AS count FROM receipts WHERE scope = ? AND message IS NOT NULL";
    return (await this.#sql.get<{ count: number }>(text, scope))?.count ?? 0;
  }

  async check(subject: string): Promise<NamedCheck | null> {
    const text = "SELECT definition FROM checks WHERE subject = ?";
    const found = await this.#sql.get<{ definition: string }>(text, subject);
    return found === undefined ? null : (JSON.parse(found.definition) as NamedCheck);
  }

  async setCheck(subject: string, check: NamedCheck): Promise<void> {
    const text = "INSERT INTO checks (subject, definition) VALUES (?, ?) ON CONFLICT DO NOTHING";
    await this.#sql.run(text, subject, JSON.stringify(check));
  }

  async put(row: ReceiptRow): Promise<void> {
    await this.#sql.run(put, ...columns.map((column) => toValue(row[column])));
  }
}

function toValue(value: ReceiptRow[(typeof columns)[number]]): Value {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

function fromStored(stored: Stored): ReceiptRow {
  return {
    ...stored,
    counts: stored.counts === null ? null : (JSON.parse(stored.counts) as ReceiptRow["counts"]),
    changed: JSON.parse(stored.changed) as string[],
  };
}
