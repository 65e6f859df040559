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
  return body.replace(/^([ \t]*)>(?=[ \t]*from\b)/gimu, "$1\\>");
}
