/** A conversation as a client has it: messages go out over HTTP, what happens comes back over an event stream. */
import type { Client } from "@aegis/client/client.ts";
import { SseParser } from "@aegis/client/sse-parser.ts";
import type { Event } from "@aegis/contract/event.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";

/** Milliseconds from sending a message to the first event about it, and to the end of the turn that answered it. */
export type Exchange = { firstMs: number; endMs: number };

export type Talk = {
  /** One message and its turn. Resolves when the session is ready for the next. */
  exchange(text: string): Promise<Exchange>;
};

/** Follows the session until the signal aborts. Works with the daemon and with the bare echo server. */
export async function openTalk(client: Client, session: SessionId, signal: AbortSignal): Promise<Talk> {
  const response = await client.open("streamEvents", { query: { session, live: false }, signal });
  const events = readEvents(response);
  return {
    async exchange(text) {
      const id = newId("msg", Date.now());
      const result = { firstMs: 0, endMs: 0 };
      const start = performance.now();
      const sent = client.call("sendMessage", { path: { session }, body: { id, text }, signal });
      // Its failure is thrown below; meanwhile the stream may say more about it.
      sent.catch(() => {});
      for (let ready = false; !ready; ) {
        const { value: event } = await events.next();
        if (event === undefined) throw new Error(`the event stream of ${client.url} ended in the middle of a turn`);
        if (event.type === "message.admitted" && event.data.message.id === id)
          result.firstMs = performance.now() - start;
        if (event.type === "turn.ended") result.endMs = performance.now() - start;
        ready = event.type === "session.state" && event.data.state === "ready";
      }
      await sent;
      return result;
    },
  };
}

/** Ends with the stream. */
export async function* readEvents(response: Response): AsyncGenerator<Event, void, undefined> {
  const parser = new SseParser();
  for await (const bytes of response.body ?? []) {
    for (const block of parser.push(bytes)) {
      if (block.event === "event" && block.data !== null) yield JSON.parse(block.data) as Event;
    }
  }
}
