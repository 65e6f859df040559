/** The table of receipts, part of the store port. */
import type { NamedCheck } from "@aegis/contract/check.ts";
import type { ReceiptId, SessionId } from "@aegis/contract/ids.ts";
import type { CheckReceipt } from "@aegis/contract/receipt.ts";

/** `scope` groups the runs of one check: all runs count towards its retries. */
export type ReceiptRow = CheckReceipt & { scope: string };

export interface ReceiptReads {
  get(id: ReceiptId): Promise<ReceiptRow | null>;
  /** Newest first. */
  list(filter: { subject?: string; session?: SessionId; limit: number }): Promise<ReceiptRow[]>;
  /** The newest receipt of each subject that has one. */
  newest(subjects: readonly string[]): Promise<Map<string, ReceiptRow>>;
  /** How many failures of the scope went back to the agent. */
  countReturned(scope: string): Promise<number>;
  /** The check that was named for one task or subagent. */
  check(subject: string): Promise<NamedCheck | null>;
}

export interface ReceiptTable extends ReceiptReads {
  /** Inserts or replaces the row with the same id. */
  put(row: ReceiptRow): Promise<void>;
  setCheck(subject: string, check: NamedCheck): Promise<void>;
}
