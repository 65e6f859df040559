/**
 * Senders as version 0.2 stored them: Telegram was a kind of its own. Its rows and events stay as they are, and are read
 * as messages of the channel `telegram`.
 */
import type { AskOrigin } from "@aegis/contract/ask.ts";
import type { Sender } from "@aegis/contract/message.ts";

const oldKind: string = "telegram";
const oldMark = '{"kind":"telegram"}';

export function currentSender(sender: Sender): Sender {
  return sender.kind === oldKind ? { kind: "channel", name: "telegram" } : sender;
}

export function currentOrigin(origin: AskOrigin): AskOrigin {
  return { ...origin, senders: origin.senders.map(currentSender) };
}

/** The data of an event. Text of a message is inside a JSON string, where the mark cannot be. */
export function currentData(type: string, data: string): string {
  if ((type !== "message.admitted" && type !== "ask.opened") || !data.includes(oldMark)) return data;
  const parsed = JSON.parse(data) as { message?: { sender: Sender }; ask?: { origin: AskOrigin | null } };
  const { message, ask } = parsed;
  if (message !== undefined) message.sender = currentSender(message.sender);
  if (ask?.origin) ask.origin = currentOrigin(ask.origin);
  return JSON.stringify(parsed);
}
