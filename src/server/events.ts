import { AegisError } from "../contract/errors.ts";
import type { AppContext, Handlers } from "./adapter.ts";
import type { EventService, Services } from "./services.ts";

export type EventHandlers = Pick<Handlers, "listEvents">;

export function eventHandlers({ events }: Services): EventHandlers {
  return {
    // The number is read last, so that it is never below an event of the page.
    listEvents: async ({ query }) => ({ events: await events.list(query), last_seq: await events.lastSeq() }),
  };
}

/** Where a stream starts: what the query says, else where the client's last connection broke, else now. */
export async function streamStart(c: AppContext, events: EventService, after: number | undefined): Promise<number> {
  const last = await events.lastSeq();
  const start = after ?? lastEventId(c) ?? last;
  if (start > last) {
    throw new AegisError("conflict", `there is no event ${start}: the last one is ${last}`, {
      hint: "the project's events were begun anew; start again with after=0",
    });
  }
  return start;
}

function lastEventId(c: AppContext): number | undefined {
  const text = c.req.header("last-event-id");
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new AegisError("invalid", `Last-Event-ID ${JSON.stringify(text)} is not the number of an event`);
}
