/** Reads the history of a session page by page, as far as it is needed. */
import type { Client } from "../../../client/client.ts";
import type { Event } from "../../../contract/event.ts";
import type { SessionId } from "../../../contract/ids.ts";

/** Events may contain whole files, so the API's maximum page size could be very large. */
const pageSize = 200;

/** The newest events, oldest first; all of them without a limit. `more` says that older events exist. */
export async function readHistory(
  client: Client,
  session: SessionId,
  limit: number = Number.POSITIVE_INFINITY,
): Promise<{ events: Event[]; more: boolean }> {
  const pages: Event[][] = [];
  let count = 0;
  for (let before: number | undefined; ; ) {
    const { events, more } = await client.call("history", {
      path: { session },
      query: { limit: Math.min(pageSize, limit - count), ...(before === undefined ? {} : { before }) },
    });
    pages.unshift(events as Event[]);
    count += events.length;
    before = events[0]?.seq;
    if (!more || before === undefined || count >= limit) return { events: pages.flat(), more };
  }
}
