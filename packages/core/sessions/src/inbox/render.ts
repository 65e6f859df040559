/** Renders a batch of messages for an agent: a header line per sender, and bodies that cannot forge a header. */
import type { Message, Sender } from "@aegis/contract/message.ts";
import { escapeHeaders, headerOf, messageSeparator, personOrigin } from "@aegis/contract/message-header.ts";

type Renderable = Pick<Message, "sender" | "body" | "admitted_at">;

/**
 * The messages in order, separated by blank lines. `before` are the messages that the agent already has in this turn.
 */
export function renderBatch(messages: readonly Renderable[], before: readonly Pick<Message, "sender">[] = []): string {
  return renderParts(messages, before).join(messageSeparator);
}

/**
 * Renders each message of a batch. A turn starts without a header while it has only one sender; with a second sender
 * every message gets a header, so that no paragraph can be attributed to the wrong sender.
 */
export function renderParts(
  messages: readonly Renderable[],
  before: readonly Pick<Message, "sender">[] = [],
): string[] {
  const senders = new Set([...before, ...messages].map(({ sender }) => originOf(sender)));
  return messages.map((message) => renderMessage(message, senders.size > 1));
}

/** `named`: adds a header even for a sender that has none when it is alone. */
export function renderMessage({ sender, body, admitted_at }: Renderable, named = false): string {
  const escaped = escapeHeaders(body);
  if (!named && opensBare(sender)) return escaped;
  return `${renderHeader(sender, admitted_at)}\n${escaped}`;
}

export function renderHeader(sender: Sender, at: number): string {
  return headerOf(originOf(sender), timestamp(at));
}

/** True for the person, and for a task's payload, which is the only purpose of its worker. */
function opensBare(sender: Sender): boolean {
  return sender.kind === "human" || (sender.kind === "queue" && sender.status === null);
}

function originOf(sender: Sender): string {
  switch (sender.kind) {
    case "human":
      return personOrigin;
    case "agent":
      return `agent:${word(sender.handle)}`;
    case "queue":
      return [
        `queue:${word(sender.name)}`,
        `task#${word(sender.task)}`,
        ...outcome(sender.status),
        ...(sender.verified === undefined ? [] : [sender.verified ? "verified" : "unverified"]),
      ].join(" · ");
    case "workflow":
      if (sender.status === null) return `workflow:${word(sender.name)}`;
      return [`workflow:${word(sender.name)}`, `task#${word(sender.run)}`, ...outcome(sender.status)].join(" · ");
    case "channel":
      return `channel:${word(sender.name)}`;
    case "client":
      return `client:${word(sender.name)}`;
    case "webhook":
      return `webhook:${word(sender.name)}`;
    case "schedule":
      return `schedule:${word(sender.name)}`;
    case "group":
      return `group:${word(sender.group)}/broadcast:${word(sender.broadcast)}`;
    case "substrate":
      return "substrate";
    default:
      return sender satisfies never;
  }
}

function outcome(status: string | null): string[] {
  return status === null ? [] : [status];
}

/** Users and agents choose names, so a name is reduced to one word of the header. */
function word(name: string): string {
  return name.replace(/[\s\p{Z}\p{C}·]/gu, "_");
}

/** UTC to the second: `2026-01-31T09:00:00Z`. */
export function timestamp(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
