/** Closes a session inside a transaction: refuses its pending messages and notifies their senders. */
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { SessionRow, StoreReads, StoreTx } from "@aegis/store/store.ts";
import type { Inbox } from "./inbox/inbox.ts";
import { liveRow } from "./rows.ts";
import { tellRefused } from "./unanswerable.ts";

/** The work that a close leaves for after the commit. */
export type ClosedSession = { id: SessionId; refused: MessageId[]; told: SessionId[] };

export type CloseOptions = {
  reason: string;
  /** The session that learns about refused messages in another way. */
  informed: SessionId | null;
  inbox: Inbox;
  clock: Clock;
};

export async function closeSession(
  tx: StoreTx,
  id: SessionId,
  { reason, informed, inbox, clock }: CloseOptions,
): Promise<ClosedSession> {
  const row = await liveRow(tx, id);
  const waiting = await tx.messages.list(id, { status: "pending" });
  const refused = waiting.map((message) => message.id);
  const now = clock.now();
  await tx.messages.setStatus(refused, "refused", null);
  await tx.sessions.update(id, { state: "closed", error: null, closed_at: now });
  await tx.events.append({ type: "session.closed", session: id, data: { reason, refused } }, now);
  const toTell = waiting.filter(({ sender }) => sender.kind !== "agent" || sender.session !== informed);
  return { id, refused, told: await tellRefused(tx, inbox, row, toTell) };
}

/** More than a person would read. */
const mostChildren = 100;

/** Lists every reason not to close a session: open work and results that it still expects. */
export async function unfinished(read: StoreReads, session: SessionRow): Promise<string[]> {
  const { id, handle, state } = session;
  const [pending, owed, dispatched, children, runs] = await Promise.all([
    read.messages.countPending(id),
    read.tasks.owedTo(id),
    read.tasks.dispatched(),
    read.subagents.list({ parent: id, status: "running", archived: false, limit: mostChildren }),
    read.runs.unfinished(),
  ]);
  const own = dispatched.filter((task) => task.worker === id);
  const hosted = runs.filter((run) => run.host === id && run.callback && run.status === "running");
  return [
    ...(state === "working" ? [`'${handle}' is mid-turn`] : []),
    ...(pending > 0 ? [`'${handle}' has ${pending} unread message(s)`] : []),
    ...own.map((task) => `'${handle}' is the worker of task ${task.id} of queue ${task.queue}`),
    ...owed.map((task) => `'${handle}' waits for task ${task.id} of queue ${task.queue} (${task.status})`),
    ...children.map((child) => `'${handle}' has a running subagent: ${child.label} (${child.run_id})`),
    ...hosted.map((run) => `'${handle}' waits for run ${run.id} of workflow ${run.workflow}`),
  ];
}
