/** Waits until an object of the daemon has ended. */
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { Client } from "./client.ts";
import { type FollowOptions, followEvents } from "./events.ts";

export type WaitOptions = Pick<FollowOptions, "signal" | "onReconnect" | "sleep">;

export type AwaitedValue<T> = {
  read: () => Promise<T>;
  isOver: (value: T) => boolean;
  /** Returns whether this event may have ended it. */
  concerns: (event: Event) => boolean;
};

/** Works across restarts of the daemon. Throws the signal's reason if it aborts; the awaited object is not affected. */
export async function waitUntilOver<T>(
  client: Client,
  awaited: AwaitedValue<T>,
  options: WaitOptions = {},
): Promise<T> {
  const { signal } = options;
  const { read, isOver, concerns } = awaited;
  // Read the position first: later changes are in the stream, earlier ones in the response.
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 }, signal });
  const first = await read();
  if (isOver(first)) return first;
  let isDue = false;
  for await (const item of followEvents(client, { ...options, after })) {
    if (item.kind !== "event") continue;
    isDue ||= concerns(item.event);
    if (!isDue) continue;
    const now = await readIfThere(read);
    // If the daemon is killed now, an event of its next start follows.
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
