/** Clients that keep sending while the daemon dies under them, and remember exactly what they were promised. */
import type { Client } from "../src/client/client.ts";
import { isAegisError } from "../src/contract/errors.ts";
import { type MessageId, newId, type SessionId } from "../src/contract/ids.ts";
import type { Random } from "./random.ts";

/** A message as its sender knows it. */
export type Sent = { id: MessageId; session: SessionId; text: string; acknowledged: boolean };

export type Load = { sent: Sent[]; stop(): Promise<void> };

/** Sends from `writers` clients at once until it is stopped. Never throws: a dead daemon is what it is here for. */
export function startLoad(
  client: Client,
  options: { writers: number; sessions: readonly SessionId[]; random: Random; backlog: Sent[] },
): Load {
  const { random, backlog } = options;
  const sent: Sent[] = [];
  const stop = new AbortController();
  const writer = async () => {
    while (!stop.signal.aborted) {
      const message = backlog.shift() ?? fresh(options.sessions, random);
      sent.push(message);
      await deliver(client, message, stop.signal);
    }
  };
  const done = Promise.all(Array.from({ length: options.writers }, writer));
  return {
    sent,
    async stop() {
      stop.abort();
      await done;
    },
  };
}

/** Sends once. A failure leaves the message unacknowledged: whether it was admitted is for the checker to find out. */
export async function deliver(client: Client, message: Sent, signal?: AbortSignal): Promise<void> {
  try {
    await client.call("sendMessage", {
      path: { session: message.session },
      body: { id: message.id, text: message.text },
      signal,
    });
    message.acknowledged = true;
  } catch (error) {
    if (isAegisError(error) && error.code !== "unavailable") throw error;
    // The daemon is gone; let its end be noticed before trying anew.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function fresh(sessions: readonly SessionId[], random: Random): Sent {
  const id = newId("msg", Date.now());
  return { id, session: random.pick(sessions), text: `token-${id.slice(4)}`, acknowledged: false };
}
