import type { IncomingMessage } from "node:http";
import { AegisError } from "../contract/errors.ts";
import type { EventHub } from "../runtime/events/hub.ts";
import type { Handlers } from "./adapter.ts";

/** What these handlers and the stream call. */
export type EventServices = { events: Pick<EventHub, "list" | "lastSeq" | "subscribe"> };

export function eventHandlers({ events }: EventServices) {
  return {
    // The number is read last, so that it is never below an event of the page.
    listEvents: async ({ query }) => ({ events: await events.list(query), last_seq: await events.lastSeq() }),
  } satisfies Partial<Handlers>;
}

/** Where a stream starts: what the query says, else where the client's last connection broke, else now. */
export async function streamStart(
  request: IncomingMessage,
  events: Pick<EventHub, "lastSeq">,
  after: number | undefined,
): Promise<number> {
  const last = await events.lastSeq();
  const start = after ?? lastEventId(request) ?? last;
  if (start > last) {
    throw new AegisError("conflict", `there is no event ${start}: the last one is ${last}`, {
      hint: "the event log was recreated; start again with after=0",
    });
  }
  return start;
}

function lastEventId({ headers }: IncomingMessage): number | undefined {
  const text = headers["last-event-id"];
  if (typeof text !== "string" || text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new AegisError("invalid", `Last-Event-ID ${JSON.stringify(text)} is not the number of an event`);
}
