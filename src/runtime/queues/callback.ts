/** The outcome of a task, and the message to its producer. */
import { messageMaxBytes } from "../../contract/message.ts";
import { type CheckReceipt, receiptWords } from "../../contract/receipt.ts";

export type Ending =
  | { status: "completed"; result: string }
  /** `no` if another attempt would end the same way; `at once` if the task is not the cause. */
  | { status: "failed"; error: string; words: string | null; retry: "no" | "later" | "at once" }
  | { status: "cancelled"; words: string | null; was: "pending" | "in_flight"; lastError: string | null };

/** The message that tells the producer. The receipt comes first: the worker writes the rest. */
export function callbackBody(ending: Ending, receipt: CheckReceipt | null): string {
  const text = callbackText(ending);
  return storable(receipt === null ? text : `[${receiptWords(receipt)}]\n\n${text}`);
}

function callbackText(ending: Ending): string {
  switch (ending.status) {
    case "completed":
      return ending.result.trim() === "" ? "the worker finished without a final message" : ending.result;
    case "failed":
      return ending.words === null
        ? ending.error
        : `${ending.error}\n\nThe worker's last message was:\n\n${ending.words}`;
    case "cancelled":
      if (ending.words !== null) return `cancelled — the worker's last message was:\n\n${ending.words}`;
      if (ending.was === "in_flight") return "cancelled — the worker had not said anything yet";
      return ending.lastError === null
        ? "cancelled (never dispatched)"
        : `cancelled while it waited to be tried again; the last try failed: ${ending.lastError}`;
  }
}

/** An agent's text may exceed the limit of an inbox. The message is truncated instead of refused. */
function storable(text: string): string {
  const clean = text.replaceAll("\0", "\uFFFD");
  const bytes = Buffer.from(clean);
  if (bytes.length <= messageMaxBytes) return clean;
  const note = `\n[cut: the whole message is ${bytes.length} bytes long]`;
  const kept = bytes.subarray(0, messageMaxBytes - Buffer.byteLength(note) - 4).toString("utf8");
  return `${kept.replace(/\uFFFD+$/, "")}${note}`;
}
