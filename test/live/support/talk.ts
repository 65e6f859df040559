/** Talking to sessions of real CLIs, which take longer than the offline agent. */
import type { Client } from "@aegis/client/client.ts";
import { followEvents } from "@aegis/client/events.ts";
import { waitForMessage } from "@aegis/client/wait.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Message, Receipt, Sender } from "@aegis/contract/message.ts";
import type { Turn } from "@aegis/contract/turn.ts";
import { endings, messages, say } from "../../helpers/talk.ts";
import { waitUntil } from "../../helpers/wait-until.ts";

const patienceMs = 50_000;

/** Says it and gives the turn that answered, however it ended. */
export async function turnFor(client: Client, session: string, text: string): Promise<Turn> {
  return turnOf(client, await say(client, session, text));
}

export async function turnOf(client: Client, receipt: Pick<Receipt, "message" | "session">): Promise<Turn> {
  const signal = AbortSignal.timeout(patienceMs);
  const outcome = await waitForMessage(client, receipt.message, receipt.session, { signal });
  if (outcome.status !== "answered" || outcome.turn === null) throw new Error(`the message is ${outcome.status}`);
  return outcome.turn;
}

/** Resolves when this word is heard while it is being said. */
export async function heard(client: Client, session: SessionId, word: string, signal: AbortSignal): Promise<void> {
  const patient = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  for await (const item of followEvents(client, { session, live: true, signal: patient })) {
    if (item.kind === "delta" && item.delta.text.includes(word)) return;
  }
  throw new Error(`"${word}" was never heard`);
}

/** Waits for a message from this kind of sender. */
export async function messageFrom(client: Client, session: SessionId, kind: Sender["kind"]): Promise<Message> {
  const find = async () => (await messages(client, session)).findLast(({ sender }) => sender.kind === kind);
  await waitUntil(`a message from ${kind}`, async () => (await find()) !== undefined, patienceMs);
  const found = await find();
  if (found === undefined) throw new Error("unreachable: messages stay");
  return found;
}

/** Waits until the session has had so many turns, all of them over. */
export async function turnsEnded(client: Client, session: SessionId, count: number): Promise<void> {
  const areOver = async () => {
    const all = await endings(client, session);
    return all.length >= count && !all.includes("running");
  };
  await waitUntil(`${count} turns of ${session} are over`, areOver, patienceMs);
}
