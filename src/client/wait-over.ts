/** Waits until something that the daemon keeps is over. */
import { isAegisError } from "../contract/errors.ts";
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
  let isDue = false;
  for await (const item of followEvents(client, { ...options, after })) {
    if (item.kind !== "event") continue;
    isDue ||= concerns(item.event);
    if (!isDue) continue;
    const now = await readIfThere(read);
    // A daemon that is killed now says that it has started again.
    if (now === null) continue;
    if (isOver(now)) return now;
    isDue = false;
  }
  throw signal?.reason;
}

async function readIfThere<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (isAegisError(error) && error.code === "unavailable") return null;
    throw error;
  }
}
