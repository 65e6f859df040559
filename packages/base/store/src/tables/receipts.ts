/** Receipts of checks, in the order in which they began. */
import type { NamedCheck } from "@aegis/contract/check.ts";
import type { ReceiptId, SessionId } from "@aegis/contract/ids.ts";
import type { CheckReceipt } from "@aegis/contract/receipt.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { matching, Table, TableReads } from "../sql/table.ts";

/** `scope` groups the runs of one check: all runs count towards its retries. */
export type ReceiptRow = CheckReceipt & { scope: string };

const table = new Table<ReceiptRow>("receipts", {
  id: "plain",
  scope: "name",
  kind: "plain",
  subject: "name",
  session: "plain",
  turn: "plain",
  command: "text",
  status: "plain",
  exit: "plain",
  duration_ms: "plain",
  tree: "name",
  head: "name",
  tail: "text",
  counts: "json name",
  changed: "json text",
  problem: "text",
  message: "plain",
  started_at: "plain",
  ended_at: "plain",
});
/** A check runs again after a crash. */
const checks = new Table<{ subject: string; definition: NamedCheck }>("checks", {
  subject: "name",
  definition: "json whole",
});

export class ReceiptReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: ReceiptId): Promise<ReceiptRow | null> {
    return table.one(this.sql, "WHERE id = ?", id);
  }

  /** Newest first. */
  list({ subject, session, limit }: { subject?: string; session?: SessionId; limit: number }): Promise<ReceiptRow[]> {
    const { where, values } = matching({ subject, session });
    return table.all(this.sql, `${where} ORDER BY position DESC LIMIT ?`, ...values, limit);
  }

  /** The newest receipt of each subject that has one. */
  async newest(subjects: readonly string[]): Promise<Map<string, ReceiptRow>> {
    const found = new Map<string, ReceiptRow>();
    for (const subject of subjects) {
      const [row] = await this.list({ subject, limit: 1 });
      if (row !== undefined) found.set(subject, row);
    }
    return found;
  }

  /** How many failures of the scope went back to the agent. */
  async countReturned(scope: string): Promise<number> {
    const text = "SELECT count(*) AS count FROM receipts WHERE scope = ? AND message IS NOT NULL";
    return (await this.sql.get<{ count: number }>(text, scope))?.count ?? 0;
  }

  /** The check that was named for one task or subagent. */
  async check(subject: string): Promise<NamedCheck | null> {
    return (await checks.one(this.sql, "WHERE subject = ?", subject))?.definition ?? null;
  }
}

export class ReceiptWrites extends ReceiptReads<RowWriter> {
  /** Inserts or replaces the row with the same id. */
  put(row: ReceiptRow): Promise<void> {
    return this.sql.put(table, "id", row);
  }

  async setCheck(subject: string, check: NamedCheck): Promise<void> {
    await this.sql.add(checks, { subject, definition: check });
  }
}
