/** Lists the receipts of a run: those of its own steps, and those of the tasks that it delegated or enqueued. */
import type { RunId, TaskId } from "@aegis/contract/ids.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import type { ReceiptRow, StoreReads } from "@aegis/store/store.ts";

const mostReceipts = 100;
const mostShown = 20;

/** Newest first. */
export async function receiptsOf(read: Pick<StoreReads, "receipts" | "steps">, run: RunId): Promise<ReceiptRow[]> {
  const own = await read.receipts.list({ subject: run, limit: mostReceipts });
  const steps = await read.steps.list(run, { methods: ["delegate", "enqueue"] });
  const found = [own];
  for (const { begun, result } of steps.slice(-mostReceipts)) {
    const subject = taskOf(begun) ?? taskOf(result);
    if (subject !== null) found.push(await read.receipts.list({ subject, limit: mostReceipts }));
  }
  return found
    .flat()
    .sort((a, b) => b.started_at - a.started_at)
    .slice(0, mostReceipts);
}

/** One line per check that decided a step, oldest first. A failure that went back to the agent decided nothing. */
export function receiptLines(newestFirst: readonly ReceiptRow[], run: RunId): string[] {
  const decided = newestFirst.filter(({ status, message }) => status !== "running" && message === null);
  const lines = decided.slice(0, mostShown).map((receipt) => `[${receiptWords(receipt)}]`);
  const hidden = decided.length - lines.length;
  return [...(hidden === 0 ? [] : [`[${hidden} earlier checks: aegis workflow status ${run}]`]), ...lines.reverse()];
}

/** The task of a step: `delegate` records it when it begins, `enqueue` returns its id. */
function taskOf(recorded: string | null): TaskId | null {
  const value: unknown = recorded === null ? null : JSON.parse(recorded);
  if (typeof value === "string") return value as TaskId;
  return typeof value === "object" && value !== null && "task" in value ? (value.task as TaskId) : null;
}
