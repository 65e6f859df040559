/** Reacts to what other nodes store: wakes sessions of this node, ends closed ones, and starts tasks. */
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Conversations } from "@aegis/sessions/conversations.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import type { Store } from "@aegis/store/store.ts";

export type ClusterFollowOptions = {
  store: Store;
  log: Logger;
  sessions: Pick<Sessions, "wake">;
  turns: Pick<Turns, "interrupt">;
  conversations: Pick<Conversations, "close">;
  /** More tasks of the queue may start here. */
  nudgeQueue: (queue: string) => Promise<void>;
  node: string;
};

const types = [
  "message.admitted",
  "session.moved",
  "session.closed",
  "task.enqueued",
  "task.ended",
  "task.requeued",
  "queue.added",
  "queue.resumed",
] as const satisfies readonly Event["type"][];

/** Returns a function that stops following. */
export function followOthers(options: ClusterFollowOptions): () => void {
  const { store, log } = options;
  return store.onCommit(
    (events) => {
      react(events, options).catch((error: unknown) =>
        log.error("events of another node could not be followed", { error: errorText(error) }),
      );
    },
    types,
    "others",
  );
}

async function react(events: readonly Event[], options: ClusterFollowOptions): Promise<void> {
  const { store, log, sessions, turns, conversations, nudgeQueue, node } = options;
  const wanted = new Set<SessionId>();
  const pumped = new Set<string>();
  for (const event of events) {
    if (event.type === "session.closed" && event.session !== null) {
      const { session } = event;
      // Both do nothing for a session without a process here.
      turns
        .interrupt(session)
        .then(() => conversations.close(session))
        .catch((error: unknown) =>
          log.warn("a session that another node closed did not end", { session, error: errorText(error) }),
        );
    } else if (event.session !== null) wanted.add(event.session);
    else if ("queue" in event.data && typeof event.data.queue === "string") pumped.add(event.data.queue);
  }
  for (const queue of pumped) await nudgeQueue(queue);
  for (const session of wanted) if ((await store.read.sessions.get(session))?.node === node) sessions.wake(session);
}
