/** The results of checks of a task, a run or a subagent. Only the daemon knows whether a receipt is still valid. */
import type { Client } from "@aegis/client/client.ts";
import type { RunId, TaskId } from "@aegis/contract/ids.ts";
import type { ReceiptView } from "@aegis/contract/receipt.ts";
import type { CheckResult } from "./model.ts";
import type { ListRow } from "./rows.ts";

export type CheckedRow = { status: string } & (
  | { kind: "task"; of: TaskId }
  | { kind: "run"; of: RunId }
  | { kind: "subagent"; of: string }
);

/** Null for a row that no check is about. */
export function checkedRow(row: ListRow): CheckedRow | null {
  if (row.kind === "task") return { kind: row.kind, of: row.task.id, status: row.task.status };
  if (row.kind === "run") return { kind: row.kind, of: row.run.id, status: row.run.status };
  if (row.kind === "subagent") return { kind: row.kind, of: row.subagent.run_id, status: row.subagent.status };
  return null;
}

export async function loadChecked(client: Client, row: CheckedRow): Promise<CheckResult> {
  const { of, kind } = row;
  if (kind === "run") {
    const { run } = await client.call("getRun", { path: { run: row.of } });
    return { of, check: null, receipts: run.receipts };
  }
  if (kind === "task") {
    const { task } = await client.call("getTask", { path: { task: row.of } });
    return { of, check: task.check, receipts: task.receipt === null ? [] : [task.receipt] };
  }
  const { receipts } = await client.call("listReceipts", { query: { of, limit: 1 } });
  return { of, check: null, receipts };
}

/** About work that is done. A failure that went back to the agent decides nothing. */
export function verdictOf(receipts: readonly ReceiptView[]): "verified" | "unverified" | "void" {
  const decided = receipts.filter(({ message }) => message === null).map(({ state }) => state);
  if (decided.length === 0 || decided.some((state) => state !== "passed" && state !== "void")) return "unverified";
  return decided.includes("void") ? "void" : "verified";
}
