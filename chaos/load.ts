/** Clients that keep sending while the daemon dies under them, and remember exactly what they were promised. */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@aegis/client/client.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import { type MessageId, newId, type SessionId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { Random } from "./random.ts";
import { goOn, type Work } from "./scenario.ts";

/** A message as its sender knows it. */
export type Sent = {
  id: MessageId;
  session: SessionId;
  text: string;
  acknowledged: boolean;
  /** In which round it was first sent. */
  round: number;
};

export type Load = Work & { sent: Sent[] };

export type LoadOptions = {
  writers: number;
  fresh: () => Sent;
  backlog: Sent[];
  /** What is not ready for the message is not sent it. */
  isReady?: (session: SessionView, message: Sent) => boolean;
};

/** Sends from `writers` clients at once until it is stopped. Never throws: a dead daemon is what it is here for. */
export function startLoad(client: Client, { writers, fresh, backlog, isReady }: LoadOptions): Load {
  const sent: Sent[] = [];
  const writer = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      const message = backlog.shift() ?? fresh();
      if (isReady !== undefined && !(await mayBeSent(client, message, isReady, signal))) {
        await delay(10);
        continue;
      }
      sent.push(message);
      await deliver(client, message, signal);
    }
  };
  return { sent, ...goOn((signal) => Promise.all(Array.from({ length: writers }, () => writer(signal)))) };
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
    throwUnlessGone(error);
    // The daemon is gone; let its end be noticed before the next attempt.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A message with a new token, which is `word` and the id of the message. */
export function freshMessage(session: SessionId, round: number, text: (token: string) => string, word: string): Sent {
  const id = newId("msg", Date.now());
  return { id, session, text: text(`${word}-${id.slice(4)}`), acknowledged: false, round };
}

/** Of senders without an answer some send again with the same id, some give up. Both must come out right. */
export function sentAgain(sent: readonly Sent[], random: Random): Sent[] {
  return sent.filter((message) => !message.acknowledged && random.next() < 0.7);
}

/** A daemon that was killed is what a load is here for; every other failure is not. */
export function throwUnlessGone(error: unknown): void {
  if (isAegisError(error) && error.code !== "unavailable") throw error;
}

async function mayBeSent(
  client: Client,
  message: Sent,
  isReady: NonNullable<LoadOptions["isReady"]>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const { session } = await client.call("getSession", { path: { session: message.session }, signal });
    return isReady(session, message);
  } catch (error) {
    throwUnlessGone(error);
    return false;
  }
}
