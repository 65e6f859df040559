/** Looks at the daemon from the outside and counts what was lost or doubled. */
import type { Client } from "@aegis/client/client.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event, EventOf } from "@aegis/contract/event.ts";
import type { MessageId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Sent } from "./load.ts";

export type Finding = { kind: "lost" | "doubled" | "unanswered" | "disorder" | "different"; what: string };

/** Every event there is, read page by page over the API. */
export async function readAllEvents(client: Client): Promise<Event[]> {
  const events: Event[] = [];
  for (let after = 0; ; ) {
    const page = await pageAfter(client, after);
    events.push(...page.events);
    const last = page.events.at(-1);
    if (!last) return events;
    after = last.seq;
  }
}

/** A connection was seen to be reset here on a machine that was far too busy. A daemon that is gone fails every try. */
async function pageAfter(client: Client, after: number, tries = 5): Promise<{ events: Event[] }> {
  try {
    return await client.call("listEvents", { query: { after: String(after), limit: "1000" } });
  } catch (error) {
    if (tries === 1 || !isAegisError(error) || error.code !== "unavailable") throw error;
    return pageAfter(client, after, tries - 1);
  }
}

/** What the senders know against what the daemon says it did. */
export function checkHistory(sent: readonly Sent[], events: readonly Event[]): Finding[] {
  const admitted = messagesOf(events);
  const completed = completedTurns(events);
  return [
    ...checkOrder(events),
    ...sent.flatMap((message) => checkSent(message, admitted, completed)),
    ...checkHandoffs(admitted, completed),
  ];
}

/** A message as a finding names it. */
export function nameOf({ id, text, round }: Sent): string {
  return `${id} ("${text}", sent in round ${round})`;
}

/** A finding unless there is exactly one. */
export function exactlyOne(count: number, what: string): Finding[] {
  if (count === 1) return [];
  return [{ kind: count === 0 ? "lost" : "doubled", what: `${what}: ${count} times instead of once` }];
}

function checkSent(message: Sent, admitted: Map<MessageId, Message[]>, completed: Map<MessageId, number>): Finding[] {
  const copies = admitted.get(message.id)?.length ?? 0;
  const answers = completed.get(message.id) ?? 0;
  const name = nameOf(message);
  if (copies > 1) return [{ kind: "doubled", what: `${name} was admitted ${copies} times` }];
  if (answers > 1) return [{ kind: "doubled", what: `${name} was answered ${answers} times` }];
  if (copies === 0 && message.acknowledged) return [{ kind: "lost", what: `${name} was acknowledged and is gone` }];
  if (copies === 1 && answers === 0) return [{ kind: "unanswered", what: `${name} was admitted and never answered` }];
  return [];
}

/** A session hands every token it is given to its peer: each arrives in exactly one handoff, answered once. */
function checkHandoffs(admitted: Map<MessageId, Message[]>, completed: Map<MessageId, number>): Finding[] {
  const handed = new Map<string, MessageId[]>();
  const given = new Set<string>();
  for (const message of [...admitted.values()].flat()) {
    for (const [token] of message.body.matchAll(/\btoken-\w+/g)) {
      if (message.sender.kind === "agent") handed.set(token, [...(handed.get(token) ?? []), message.id]);
      else given.add(token);
    }
  }
  return [...given].flatMap((token): Finding[] => {
    const ids = handed.get(token) ?? [];
    if (ids.length > 1) return [{ kind: "doubled", what: `${token} was handed over ${ids.length} times` }];
    const [id] = ids;
    if (id === undefined) return [{ kind: "lost", what: `${token} was never handed over` }];
    const answers = completed.get(id) ?? 0;
    if (answers === 1) return [];
    return [{ kind: answers === 0 ? "unanswered" : "doubled", what: `the handoff of ${token} has ${answers} answers` }];
  });
}

function checkOrder(events: readonly Event[]): Finding[] {
  return events.flatMap((event, index): Finding[] => {
    const before = events[index - 1];
    if (!before || event.seq > before.seq) return [];
    return [{ kind: "disorder", what: `event ${event.seq} follows ${before.seq}` }];
  });
}

export function messagesOf(events: readonly Event[]): Map<MessageId, Message[]> {
  const messages = new Map<MessageId, Message[]>();
  for (const event of events) {
    if (event.type !== "message.admitted") continue;
    const { message } = event.data;
    messages.set(message.id, [...(messages.get(message.id) ?? []), message]);
  }
  return messages;
}

/** How many completed turns each message was in. */
export function completedTurns(events: readonly Event[]): Map<MessageId, number> {
  const inTurn = new Map<string, readonly MessageId[]>();
  const answers = new Map<MessageId, number>();
  for (const event of events) {
    if (event.type === "turn.started") inTurn.set(event.data.turn, event.data.messages);
    if (event.type !== "turn.ended" || event.data.reason !== "completed") continue;
    for (const id of inTurn.get(event.data.turn) ?? []) answers.set(id, (answers.get(id) ?? 0) + 1);
  }
  return answers;
}

export type TurnEnd = EventOf<"turn.ended">["data"];

/** How the turns ended that each message was in, without those that a kill of the daemon cut. */
export function turnEnds(events: readonly Event[]): Map<MessageId, TurnEnd[]> {
  const inTurn = new Map<string, readonly MessageId[]>();
  const ends = new Map<MessageId, TurnEnd[]>();
  for (const event of events) {
    if (event.type === "turn.started") inTurn.set(event.data.turn, event.data.messages);
    if (event.type !== "turn.ended" || event.data.reason === "lost") continue;
    for (const id of inTurn.get(event.data.turn) ?? []) ends.set(id, [...(ends.get(id) ?? []), event.data]);
  }
  return ends;
}

/** What `pick` gives of events, under the names it gives them. */
export function collect<T>(
  events: readonly Event[],
  pick: (event: Event) => readonly [string, T] | null,
): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const event of events) {
    const [name, value] = pick(event) ?? [];
    if (name !== undefined && value !== undefined) found.set(name, [...(found.get(name) ?? []), value]);
  }
  return found;
}
