/** What people do with a daemon, over its public API. */

import type { Client } from "@aegis/client/client.ts";
import { waitForMessage } from "@aegis/client/wait.ts";
import type { ApiBody } from "@aegis/contract/api.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event, EventOf, EventType } from "@aegis/contract/event.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { Message, Receipt } from "@aegis/contract/message.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { expect } from "vitest";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

export async function createSession(client: Client, body: ApiBody<"createSession"> = {}): Promise<SessionView> {
  return (await client.call("createSession", { body })).session;
}

export async function say(
  client: Client,
  session: string,
  text: string,
  more: Omit<ApiBody<"sendMessage">, "text"> = {},
): Promise<Receipt> {
  return (await client.call("sendMessage", { path: { session }, body: { text, ...more } })).receipt;
}

/** Says it and waits for the answer. */
export async function talk(client: Client, session: string, text: string): Promise<string> {
  const receipt = await say(client, session, text);
  return answerTo(client, receipt);
}

export async function answerTo(
  client: Client,
  receipt: Pick<Receipt, "message" | "session">,
  withinMs = 15_000,
): Promise<string> {
  const signal = AbortSignal.timeout(scaled(withinMs));
  const outcome = await waitForMessage(client, receipt.message, receipt.session, { signal });
  if (outcome.status !== "answered") throw new Error(`the message is ${outcome.status}`);
  return outcome.turn?.text ?? "";
}

/** Every event so far, oldest first. */
export async function allEvents(client: Client, session?: SessionId): Promise<Event[]> {
  const found: Event[] = [];
  while (true) {
    const after = found.at(-1)?.seq ?? 0;
    const { events } = await client.call("listEvents", {
      query: { after, limit: 1000, ...(session === undefined ? {} : { session }) },
    });
    if (events.length === 0) return found;
    found.push(...events);
  }
}

export async function eventsOf<T extends EventType>(
  client: Client,
  type: T,
  session?: SessionId,
): Promise<EventOf<T>[]> {
  const events = await allEvents(client, session);
  return events.filter((event): event is EventOf<T> => event.type === type);
}

/** Waits until the agent has said this in a turn that is still in progress or over. */
export async function hasSaid(client: Client, session: SessionId, text: string): Promise<void> {
  await waitUntil(`session ${session} says "${text}"`, async () =>
    (await eventsOf(client, "turn.text", session)).some((event) => event.data.text === text),
  );
}

/** Waits for as many results of tool calls. */
export async function toolResults(client: Client, session: SessionId, count: number): Promise<void> {
  await waitUntil(
    `${count} tool results in ${session}`,
    async () => (await eventsOf(client, "turn.tool_result", session)).length >= count,
  );
}

/** How each turn of the session ended, oldest first. */
export async function endings(client: Client, session: SessionId): Promise<string[]> {
  const { turns } = await client.call("listTurns", { path: { session } });
  return turns.toReversed().map((turn) => turn.reason ?? "running");
}

export async function messages(client: Client, session: string): Promise<Message[]> {
  return (await client.call("listMessages", { path: { session } })).messages;
}

export async function message(client: Client, id: MessageId): Promise<Message> {
  return (await client.call("getMessage", { path: { message: id } })).message;
}

export async function openAsk(client: Client): Promise<Ask> {
  let found: Ask | undefined;
  await waitUntil("an ask is open", async () => {
    found = (await client.call("listAsks")).asks[0];
    return found !== undefined;
  });
  if (found === undefined) throw new Error("unreachable: the wait ends with an ask");
  return found;
}

/** The refusal that the call is met with. */
export async function refusal(call: Promise<unknown>): Promise<AegisError> {
  const outcome = await call.catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(AegisError);
  return outcome as AegisError;
}
