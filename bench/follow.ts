/** Everything a daemon tells, with the time it arrived. */
import type { Client } from "@aegis/client/client.ts";
import type { Event } from "@aegis/contract/event.ts";
import { readEvents } from "./talk.ts";

export type Seen = { event: Event; at: number };

export type Followed = {
  all(type: Event["type"]): readonly Seen[];
  /** Resolves when so many events of the type, of those that count, have arrived. */
  until(type: Event["type"], count: number, counts?: (event: Event) => boolean): Promise<void>;
};

/** Follows until the signal aborts. */
export async function follow(client: Client, signal: AbortSignal): Promise<Followed> {
  const seen = new Map<Event["type"], Seen[]>();
  let arrived = Promise.withResolvers<void>();
  const response = await client.open("streamEvents", { query: { live: false }, signal });
  const read = async () => {
    for await (const event of readEvents(response)) {
      const same = seen.get(event.type) ?? [];
      seen.set(event.type, same);
      same.push({ event, at: performance.now() });
      const { resolve } = arrived;
      arrived = Promise.withResolvers();
      resolve();
    }
  };
  const ended = read().then(
    () => new Error(`the event stream of ${client.url} ended`),
    (error: unknown) => error,
  );
  const all = (type: Event["type"]) => seen.get(type) ?? [];
  return {
    all,
    async until(type, count, counts = () => true) {
      let found = 0;
      for (let looked = 0; ; ) {
        const events = all(type);
        for (; looked < events.length; looked++) {
          const one = events[looked];
          if (one !== undefined && counts(one.event)) found++;
        }
        if (found >= count) return;
        const over = await Promise.race([arrived.promise, ended]);
        if (over !== undefined) throw over;
      }
    },
  };
}
