/**
 * Rebuilds the rows of a session from its transcript. The session is restored as closed, because a transcript does not
 * contain its rights, its limits or the memory of its harness. Pending messages are not sent again.
 */
import type { Event, NewEvent } from "@aegis/contract/event.ts";
import type { MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Session } from "@aegis/contract/session.ts";
import type { SessionRow, StoreTx, TurnRow } from "@aegis/store/store.ts";

export type Rebuilt = {
  session: Session;
  messages: Message[];
  turns: TurnRow[];
  events: (NewEvent & { at: number })[];
  /** The number of messages without an answer. */
  unanswered: number;
};

export const salvageReason = "brought back by aegis store salvage";
const lostReason = "the database that held it was lost; it was not sent again";

/** Returns null if the transcript does not identify its session. */
export function rebuild(id: SessionId, history: readonly Event[], now: number): Rebuilt | null {
  let session = null as Session | null;
  const messages = new Map<MessageId, Message>();
  const turns = new Map<TurnId, TurnRow>();
  const events: Rebuilt["events"] = [];
  const settle = (message: MessageId, change: Partial<Message>) => {
    const known = messages.get(message);
    if (known !== undefined) messages.set(message, { ...known, ...change });
  };
  const endTurn = (turn: TurnId) => {
    for (const message of messages.values())
      if (message.turn === turn && message.status === "dispatched") settle(message.id, { status: "done" });
  };
  for (const { seq: _, ...event } of history) {
    if (event.type === "turn.memory") continue;
    // Every turn and message starts once, even if the file repeats the event.
    if (event.type === "turn.started" && turns.has(event.data.turn)) continue;
    if (event.type === "turn.ended" && turns.get(event.data.turn)?.ended_at !== null) continue;
    events.push(event);
    switch (event.type) {
      case "session.created":
        if (event.data.session.id === id) session ??= event.data.session;
        break;
      case "session.renamed":
        if (session !== null) session = { ...session, handle: event.data.handle };
        break;
      case "session.titled":
        if (session !== null) session = { ...session, title: event.data.title, title_source: event.data.source };
        break;
      case "session.agent": {
        const { agent, harness, offline } = event.data;
        if (session !== null) session = { ...session, agent, harness, offline };
        break;
      }
      case "session.closed":
        if (session !== null) session = { ...session, closed_at: event.at };
        for (const message of event.data.refused) settle(message, { status: "refused" });
        break;
      case "message.admitted":
        if (event.data.message.session === id && !messages.has(event.data.message.id))
          messages.set(event.data.message.id, { ...event.data.message, status: "pending", turn: null });
        break;
      case "message.received": {
        const { message, body } = event.data;
        const before = messages.get(message);
        if (before !== undefined) messages.set(message, { ...before, body, sent: before.sent ?? before.body });
        break;
      }
      case "message.cancelled":
        settle(event.data.message, { status: "cancelled" });
        break;
      case "message.lost":
        settle(event.data.message, { status: "lost" });
        break;
      case "message.steered":
        settle(event.data.message, { status: "dispatched", turn: event.data.turn });
        break;
      case "turn.started":
        turns.set(event.data.turn, newTurn(id, event.data.turn, event.at));
        for (const message of event.data.messages) settle(message, { status: "dispatched", turn: event.data.turn });
        break;
      case "turn.accepted": {
        const turn = turns.get(event.data.turn);
        if (turn !== undefined) turn.accepted = true;
        break;
      }
      case "turn.ended": {
        const turn = turns.get(event.data.turn);
        if (turn !== undefined) turn.ended_at = event.at;
        endTurn(event.data.turn);
        break;
      }
    }
  }
  if (session === null) return null;

  for (const turn of turns.values()) {
    if (turn.ended_at !== null) continue;
    const error = { code: "restart", message: "the database that held this turn was lost before the turn ended" };
    const data = { turn: turn.id, reason: "lost" as const, error, text: "", usage: null };
    events.push({ type: "turn.ended", session: id, data, at: now });
  }
  const open = [...messages.values()].filter(({ status }) => status === "pending" || status === "dispatched");
  for (const { id: message } of open) {
    settle(message, { status: "lost" });
    events.push({ type: "message.lost", session: id, data: { message, reason: lostReason }, at: now });
  }
  if (session.closed_at === null) {
    events.push({ type: "session.closed", session: id, data: { reason: salvageReason, refused: [] }, at: now });
    session = { ...session, closed_at: now };
  }
  const closed: Session = { ...session, state: "closed", error: null };
  return {
    session: closed,
    messages: [...messages.values()],
    turns: [...turns.values()],
    events,
    unanswered: open.length,
  };
}

/** Runs in one transaction, so a session is restored completely or not at all. Returns false if it already existed. */
export async function insertRebuilt(tx: StoreTx, { session, messages, turns, events }: Rebuilt): Promise<boolean> {
  if ((await tx.sessions.get(session.id)) !== null) return false;
  const known = async (id: SessionId | null) => (id !== null && (await tx.sessions.get(id)) !== null ? id : null);
  const row: SessionRow = {
    ...session,
    parent: await known(session.parent),
    forked_from: await known(session.forked_from),
    resume: null,
    limits: null,
    started_by: null,
    root: null,
    fork_point: null,
  };
  await tx.sessions.insert(row);
  for (const message of messages) if ((await tx.messages.get(message.id)) === null) await tx.messages.insert(message);
  for (const turn of turns) await tx.turns.insert({ ...turn, ended_at: null });
  for (const { at, ...event } of events) {
    const { seq } = await tx.events.append(event, at);
    if (event.type !== "turn.ended" || !turns.some((turn) => turn.id === event.data.turn)) continue;
    const { turn, reason, error, text, usage } = event.data;
    await tx.turns.end(turn, { at, reason, error, text, usage, seq });
  }
  return true;
}

function newTurn(session: SessionId, id: TurnId, started_at: number): TurnRow {
  return {
    id,
    session,
    started_at,
    ended_at: null,
    reason: null,
    error: null,
    text: "",
    usage: null,
    accepted: false,
    handed_over: [],
  };
}
