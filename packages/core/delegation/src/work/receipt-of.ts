/** Finds the receipt that proves the result of a piece of work. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { ReceiptRow, StoreReads } from "@aegis/store/store.ts";

/**
 * The newest receipt of the subject, or null if it has none or its check has not ended. With `session`, only a receipt of
 * that session counts: what an earlier worker did does not prove the result of a later one.
 */
export async function receiptOf(
  from: Pick<StoreReads, "receipts">,
  subject: string,
  session?: SessionId | null,
): Promise<ReceiptRow | null> {
  const [newest] = await from.receipts.list({ subject, limit: 1 });
  if (newest === undefined || newest.status === "running") return null;
  return session === undefined || newest.session === session ? newest : null;
}
