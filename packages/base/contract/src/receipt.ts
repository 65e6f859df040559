/** A receipt is the durable record of one run of a check, bound to the tree of files on which it ran. */
import { z } from "zod";
import { suspicion, testCountWords } from "./receipt-words.ts";
import { messageIdSchema, receiptIdSchema, sessionIdSchema, turnIdSchema } from "./schema-ids.ts";

/** Test counts in the output of a known tool. They are shown; only the exit code decides. */
export const testCountsSchema = z.object({
  format: z.enum(["tap", "junit", "vitest", "jest", "pytest", "go", "cargo"]),
  passed: z.int(),
  failed: z.int(),
  skipped: z.int(),
  /** True if the output does not name every test. */
  partial: z.boolean(),
});
export type TestCounts = z.infer<typeof testCountsSchema>;

/** `refused`: the command was not allowed to run, or could not be started. */
export const receiptStatusSchema = z.enum(["running", "passed", "failed", "refused"]);

export const checkReceiptSchema = z.object({
  id: receiptIdSchema,
  kind: z.enum(["task", "subagent", "step", "landing"]),
  /** The id of the task, the subagent, the workflow run or the landing. */
  subject: z.string(),
  /** The session whose work was checked. */
  session: sessionIdSchema,
  /** The turn after which the check ran; null for a landing. */
  turn: turnIdSchema.nullable(),
  command: z.string(),
  status: receiptStatusSchema,
  /** 124 after a timeout, 128 plus the number of a signal; null while it runs and if it was not started. */
  exit: z.int().nullable(),
  duration_ms: z.number().nullable(),
  /** The git tree on which it ran; null outside git, and if files changed while it ran. */
  tree: z.string().nullable(),
  head: z.string().nullable(),
  /** The end of its output, without known secrets. */
  tail: z.string(),
  counts: testCountsSchema.nullable(),
  /** Files that changed while it ran. */
  changed: z.array(z.string()),
  /** Why it has no tree, or was not run to its end. */
  problem: z.string().nullable(),
  /** The message that returned the failure to the agent; null if there was none. */
  message: messageIdSchema.nullable(),
  started_at: z.number(),
  ended_at: z.number().nullable(),
});
export type CheckReceipt = z.infer<typeof checkReceiptSchema>;

export const receiptViewSchema = checkReceiptSchema.extend({
  /** `void`: the check passed, but not on the present files. Computed when it is shown. */
  state: z.enum(["running", "passed", "void", "failed", "refused"]),
  /** Why it is void, or what the receipt does not cover. */
  note: z.string().nullable(),
});
export type ReceiptView = z.infer<typeof receiptViewSchema>;

/** Whether work with this receipt is verified, as far as the receipt itself can tell. */
export function isVerified(receipt: CheckReceipt | null): boolean {
  return receipt?.status === "passed" && receipt.changed.length === 0;
}

/** One line about a receipt, for messages and screens. */
export function receiptWords(receipt: CheckReceipt & Partial<Pick<ReceiptView, "state" | "note">>): string {
  const { command, exit, counts, tree, duration_ms, problem } = receipt;
  const state = receipt.state ?? receipt.status;
  const shown = command.trim().split("\n", 1)[0]?.slice(0, 80) ?? "";
  const facts = [
    ...(exit === null ? [] : [`exit ${exit}`]),
    ...(counts === null ? [] : [testCountWords(counts)]),
    ...(duration_ms === null ? [] : [`${(duration_ms / 1000).toFixed(1)} s`]),
  ];
  const where = tree === null ? "" : ` on tree ${tree.slice(0, 12)}`;
  const why = receipt.note ?? problem;
  const odd = suspicion(receipt);
  const notes = [...(why === null ? [] : [why]), ...(odd === null ? [] : [odd])];
  const detail = facts.length === 0 ? "" : ` (${facts.join(", ")})`;
  return `check \`${shown}\` ${state}${detail}${where}${notes.length === 0 ? "" : `; ${notes.join("; ")}`}`;
}
