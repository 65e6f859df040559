/**
 * A session is away if its node is lost and its memory or its files are on the machine of that node. It continues when
 * the node is back, or without its memory after `cluster.give_up`. Those who wait for it are notified.
 */
import { isId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { labelsOf, labelWords } from "@aegis/nodes/placement.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import { tellSender } from "@aegis/sessions/unanswerable.ts";
import type { SessionRow, StoreTx } from "@aegis/store/store.ts";

export type AwayOptions = { clock: Clock; inbox: Pick<Inbox, "admitIn"> };

/**
 * Records that the session is away, for people who watch it. Sessions and runs that wait for an answer are told once
 * each.
 */
export async function tellAway(tx: StoreTx, session: SessionRow, options: AwayOptions): Promise<void> {
  const { clock, inbox } = options;
  const { handle, node } = session;
  const labels = labelsOf(session);
  const back = "until the node is back or cluster.give_up has passed";
  const until = labels.length === 0 ? back : `${back}, on a node with ${labelWords(labels)}`;
  const text = `node ${node} is lost: ${handle} is away ${until}`;
  await tx.events.append(
    { type: "session.notice", session: session.id, data: { level: "warning", text } },
    clock.now(),
  );
  for (const message of oneOfEachSender(await tx.messages.list(session.id, { status: "pending" }))) {
    const { sender } = message;
    if (sender.kind === "workflow" && sender.status === null && isId("run", sender.run)) {
      const data = { run: sender.run, workflow: sender.name, level: "warning" as const, text, place: null };
      await tx.events.append({ type: "run.log", session: null, data }, clock.now());
    }
    const words = `Your message ${message.id} to "${handle}" waits: node ${node} is lost. It is kept ${until}.`;
    await tellSender(tx, inbox, message, words);
  }
}

function oneOfEachSender(messages: readonly Message[]): Message[] {
  const bySender = new Map(messages.map((message) => [JSON.stringify(message.sender), message]));
  return [...bySender.values()];
}
