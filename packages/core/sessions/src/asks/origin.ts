/** Determines from the store who asks and on whose behalf. */
import type { AskOrigin } from "@aegis/contract/ask.ts";
import { isId } from "@aegis/contract/ids.ts";
import type { Sender } from "@aegis/contract/message.ts";
import type { SessionRow, StoreTx } from "@aegis/store/store.ts";

/** Trees are shallow; a longer chain is corrupt. */
const mostParents = 20;
const mostSenders = 20;

export async function originOf(tx: StoreTx, session: SessionRow): Promise<AskOrigin> {
  const senders = await sendersOf(tx, session);
  const { handle, agent, harness } = session;
  const requesters = new Set<string>();
  for (const sender of senders) {
    const requester = await requesterOf(tx, sender);
    if (requester !== null) requesters.add(requester);
  }
  return { handle, agent, harness, parents: await parentsOf(tx, session), senders, requesters: [...requesters] };
}

async function parentsOf(tx: StoreTx, session: SessionRow): Promise<AskOrigin["parents"]> {
  const parents: AskOrigin["parents"] = [];
  let next = session.parent;
  while (next !== null && parents.length < mostParents) {
    const row = await tx.sessions.get(next);
    if (row === null) break;
    parents.push({ session: row.id, handle: row.handle, agent: row.agent });
    next = row.parent;
  }
  return parents;
}

async function sendersOf(tx: StoreTx, session: SessionRow): Promise<Sender[]> {
  const [turn] = (await tx.turns.open()).filter((open) => open.session === session.id);
  if (turn === undefined) return [];
  const senders = new Map<string, Sender>();
  for (const { sender } of await tx.messages.inTurn(turn.id)) senders.set(JSON.stringify(sender), sender);
  return [...senders.values()].slice(0, mostSenders);
}

/** The session that created the task or started the run behind a message; null for a person. */
async function requesterOf(tx: StoreTx, sender: Sender): Promise<string | null> {
  if (sender.kind === "queue" && isId("tsk", sender.task)) {
    return handleOf(tx, (await tx.tasks.get(sender.task))?.producer ?? null);
  }
  if (sender.kind === "workflow" && isId("run", sender.run)) {
    return handleOf(tx, (await tx.runs.get(sender.run))?.host ?? null);
  }
  return null;
}

async function handleOf(tx: StoreTx, session: SessionRow["id"] | null): Promise<string | null> {
  return session === null ? null : ((await tx.sessions.get(session))?.handle ?? null);
}
