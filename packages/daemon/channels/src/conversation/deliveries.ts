/** Which events become messages, and where they go. */

import type { Ask } from "@aegis/contract/ask.ts";
import type { Event, EventOf } from "@aegis/contract/event.ts";
import { headline } from "@aegis/contract/headline.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { ChannelOutboxRow, StoreReads } from "@aegis/store/store.ts";
import type { AskCard, Channel, ChatPlace, Content } from "../channel.ts";
import type { NewDelivery } from "../feed.ts";
import { askCard } from "./cards.ts";

export const followedEvents = ["turn.ended", "ask.opened", "ask.settled"] as const;

export type DeliveryOptions = {
  name: string;
  channel: Pick<Channel, "format">;
  /** Where asks of sessions without a place go; empty if they are not shown. */
  homes: (read: StoreReads) => Promise<readonly ChatPlace[]>;
};

/** More parts than this become the first parts and a file. */
const mostParts = 8;
const partsBesideFile = 2;
const mostAncestors = 20;
const longestOutcome = 150;

export async function deliveriesOf(read: StoreReads, event: Event, options: DeliveryOptions): Promise<NewDelivery[]> {
  if (event.type === "turn.ended") return turnEnded(read, event, options);
  if (event.type === "ask.opened") return askOpened(read, event.data.ask, options, "");
  if (event.type === "ask.settled") return askSettled(read, event, options);
  return [];
}

/** The parts of a text as deliveries to one place. */
export function textDeliveries(
  channel: Pick<Channel, "format">,
  to: { key: string; place: ChatPlace; session: SessionId | null },
  markdown: string,
): NewDelivery[] {
  const parts = channel.format(markdown);
  const shown = parts.length > mostParts ? parts.slice(0, partsBesideFile) : parts;
  const contents: Content[] = shown.map((part) => ({ kind: "text", part }));
  if (shown.length < parts.length) contents.push({ kind: "file", name: "answer.md", text: markdown });
  return contents.map((body, index) => ({
    key: `${to.key}:${index}`,
    place: to.place,
    session: to.session,
    ask: null,
    kind: body.kind,
    body,
  }));
}

async function turnEnded(
  read: StoreReads,
  { session, data }: EventOf<"turn.ended">,
  { name, channel }: DeliveryOptions,
): Promise<NewDelivery[]> {
  // A lost turn continues after the restart.
  if (session === null || data.reason === "lost") return [];
  const text = answerText(data);
  if (text === "") return [];
  const row = await read.sessions.get(session);
  const title = row === null ? session : headline(row);
  const deliveries: NewDelivery[] = [];
  for (const place of await read.channels.placesOf(name, session)) {
    const isCurrent = (await read.channels.sessionAt(name, place)) === session;
    const markdown = isCurrent ? text : `**${title}**\n\n${text}`;
    deliveries.push(...textDeliveries(channel, { key: `turn:${data.turn}:${place}`, place, session }, markdown));
  }
  return deliveries;
}

function answerText({ reason, text, error }: EventOf<"turn.ended">["data"]): string {
  const end = {
    completed: "",
    lost: "",
    cancelled: "(stopped)",
    failed: `The turn failed: ${error?.message ?? "unknown error"}`,
    refused: `The turn was refused${error === null ? "." : `: ${error.message}`}`,
    truncated: "(the answer reached a limit)",
  }[reason];
  return [text.trim(), end].filter((part) => part !== "").join("\n\n");
}

/** `again` distinguishes a card that is shown again on request. */
export async function askOpened(
  read: StoreReads,
  ask: Ask,
  options: DeliveryOptions,
  again: string,
  only?: ChatPlace,
): Promise<NewDelivery[]> {
  const { name, channel, homes } = options;
  const own = only === undefined ? await placesAbove(read, name, ask.session) : [only];
  const places = own.length > 0 ? own : await homes(read);
  const { card, whole } = askCard(ask, channel);
  return places.flatMap((place): NewDelivery[] => {
    const key = `ask:${ask.id}:${place}${again}`;
    const to = { place, session: ask.session };
    const file: Content = { kind: "file", name: "action.txt", text: whole ?? "" };
    return [
      ...(whole === null ? [] : [{ ...to, key: `${key}:whole`, ask: null, kind: "file" as const, body: file }]),
      { ...to, key, ask: ask.id, kind: "ask", body: card },
    ];
  });
}

/** A subagent has no place of its own: its asks go where the session is that it works for. */
async function placesAbove(read: StoreReads, name: string, session: SessionId): Promise<string[]> {
  let at: SessionId | null = session;
  for (let depth = 0; at !== null && depth < mostAncestors; depth++) {
    const places = await read.channels.placesOf(name, at);
    if (places.length > 0) return places;
    at = (await read.sessions.get(at))?.parent ?? null;
  }
  return [];
}

async function askSettled(
  read: StoreReads,
  { data }: EventOf<"ask.settled">,
  { name, channel }: DeliveryOptions,
): Promise<NewDelivery[]> {
  const { ask, status, answer, by = null, reason = null } = data;
  const outcome =
    status === "answered"
      ? `Answered: ${answer?.choice ?? "with text"}${by === null ? "" : ` (${by})`}`
      : `${status === "expired" ? "Expired" : "Withdrawn"}${reason === null ? "" : `: ${reason}`}`;
  return (await read.channels.outByAsk(name, ask)).map((row) => settledDelivery(row, outcome, channel));
}

/** The body of a row that replaces a shown ask. */
export type SettledBody = { settles: string; card: AskCard };

function settledDelivery(row: ChannelOutboxRow, outcome: string, channel: Pick<Channel, "format">): NewDelivery {
  const { part } = row.body as AskCard;
  const [end = { text: "", marks: [] }] = channel.format(`— ${outcome.slice(0, longestOutcome).toWellFormed()}`);
  const card: AskCard = {
    part: { text: `${part.text}\n\n${end.text}`, marks: part.marks },
    choices: [],
    reply: false,
  };
  const body: SettledBody = { settles: row.key, card };
  const { place, session, ask } = row;
  return { key: `settled:${row.key}`, place, session, ask, kind: "ask_settled", body };
}
