/** What is said of a task when it ends: the worker's last words, and the message its producer gets. */
import type { SessionId } from "../../contract/ids.ts";
import { messageMaxBytes } from "../../contract/message.ts";
import type { EventReads } from "../../store/store.ts";

export type Ending =
  | { status: "completed"; result: string }
  /** `no` when another try would end the same way; `at once` when the task is not to blame. */
  | { status: "failed"; error: string; words: string | null; retry: "no" | "later" | "at once" }
  | { status: "cancelled"; words: string | null; was: "pending" | "in_flight"; lastError: string | null };

const mostParts = 100;

/** The worker's whole last message so far, or null when it has said nothing. */
export async function lastWords(from: { readonly events: EventReads }, worker: SessionId): Promise<string | null> {
  const events = await from.events.list({ session: worker, types: ["turn.text"], limit: mostParts, from: "newest" });
  const said = events.flatMap((event) => (event.type === "turn.text" ? [event.data] : []));
  const last = said.at(-1);
  if (last === undefined) return null;
  // A message may come in several parts, with tool calls between them.
  const parts = said.filter((part) => part.turn === last.turn && part.message === last.message);
  return parts.map((part) => part.text).join("\n\n");
}

/** The message that tells the producer. */
export function callbackBody(ending: Ending): string {
  return storable(callbackText(ending));
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

/** An agent may say what no inbox takes: the message is cut rather than lost. */
function storable(text: string): string {
  const clean = text.replaceAll("\0", "\uFFFD");
  const bytes = Buffer.from(clean);
  if (bytes.length <= messageMaxBytes) return clean;
  const note = `\n[cut: the whole message is ${bytes.length} bytes long]`;
  const kept = bytes.subarray(0, messageMaxBytes - Buffer.byteLength(note) - 4).toString("utf8");
  return `${kept.replace(/\uFFFD+$/, "")}${note}`;
}
