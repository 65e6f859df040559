/** Waits until something that the daemon keeps is over. */
import type { Event } from "../contract/event.ts";
import type { Client } from "./client.ts";
import { type FollowOptions, followEvents } from "./events.ts";

export type WaitOptions = Pick<FollowOptions, "signal" | "onReconnect" | "sleep">;

export type Awaited<T> = {
  read: () => Promise<T>;
  isOver: (value: T) => boolean;
  /** Whether it may be over since this event. */
  concerns: (event: Event) => boolean;
};

/** Over any number of restarts of the daemon. Throws the signal's reason when it aborts; what is awaited goes on. */
export async function waitUntilOver<T>(client: Client, awaited: Awaited<T>, options: WaitOptions = {}): Promise<T> {
  const { signal } = options;
  const { read, isOver, concerns } = awaited;
  // The position comes first: what changes after it is in the stream, what changed before is read.
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 }, signal });
  const first = await read();
  if (isOver(first)) return first;
  for await (const item of followEvents(client, { ...options, after })) {
    if (item.kind !== "event" || !concerns(item.event)) continue;
    const now = await read();
    if (isOver(now)) return now;
  }
  throw signal?.reason;
}
