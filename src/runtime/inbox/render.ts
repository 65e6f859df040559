/** How a batch of messages reads to an agent: one header line per message, bodies that cannot pass for a header. */
import type { Message, Sender } from "../../contract/message.ts";

/** Messages in order, joined by one blank line. A human's message has no header. */
export function renderBatch(messages: readonly Message[]): string {
  return messages.map(renderMessage).join("\n\n");
}

export function renderMessage(message: Pick<Message, "sender" | "body" | "admitted_at">): string {
  const body = escapeHeaders(message.body);
  const header = renderHeader(message.sender, message.admitted_at);
  return header === null ? body : `${header}\n${body}`;
}

export function renderHeader(sender: Sender, at: number): string | null {
  const origin = renderOrigin(sender);
  return origin === null ? null : `> from ${origin} · ${timestamp(at)}`;
}

function renderOrigin(sender: Sender): string | null {
  switch (sender.kind) {
    case "human":
      return null;
    case "agent":
      return `agent:${sender.handle}`;
    case "queue":
      // A payload is the worker's opening prompt: nobody speaks before it.
      return sender.status === null ? null : `queue:${sender.name} · task#${sender.task} · ${sender.status}`;
    case "workflow":
      return sender.status === null
        ? `workflow:${sender.name}`
        : `workflow:${sender.name} · task#${sender.run} · ${sender.status}`;
    case "telegram":
      return "telegram";
    case "schedule":
      return `schedule:${sender.name}`;
    case "group":
      return `group:${sender.group}/broadcast:${sender.broadcast}`;
    case "substrate":
      return "substrate";
  }
}

/** UTC to the second: `2026-01-31T09:00:00Z`. */
export function timestamp(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** A line of a body that looks like a header would let its sender speak as somebody else. */
function escapeHeaders(body: string): string {
  return body.replace(/[>\uFF1E]/g, (mark, at: number) => (beginsHeader(body, at) ? `\\${mark}` : mark));
}

const lineEnd = /[\n\r\v\f\u0085\u2028\u2029]/;
/** Blanks of any kind and characters nobody sees; half of a pair is taken for one. */
const unseen = /[\p{Z}\p{C}]/u;
const isUnseen = (char: string) => unseen.test(char) && !lineEnd.test(char);

/** Walks instead of matching one expression: an expression runs out of stack on megabytes of blanks. */
function beginsHeader(body: string, mark: number): boolean {
  let before = mark - 1;
  while (before >= 0 && isUnseen(body.charAt(before))) before -= 1;
  if (before >= 0 && !lineEnd.test(body.charAt(before))) return false;
  let after = mark + 1;
  while (after < body.length && isUnseen(body.charAt(after))) after += 1;
  return /^from\b/i.test(body.slice(after, after + 5));
}
