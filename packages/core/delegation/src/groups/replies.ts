/**
 * Derives the state of each member's message. A reply is the turn that took this message; other turns do not count. All
 * of it follows from stored messages and turns, so it can be derived again at any time.
 */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Broadcast, BroadcastMember, ReplyStatus } from "@aegis/contract/group.ts";
import type { BroadcastId, MessageId, TurnId } from "@aegis/contract/ids.ts";
import type { TurnReason } from "@aegis/contract/turn.ts";
import type { ReplySettlement, StoreReads, StoreTx, TurnRow } from "@aegis/store/store.ts";

type Ended = Omit<ReplySettlement, "arrival"> & { at: number };
type Outcome = "owed" | { moved: MessageId } | Ended;

/** True if the rows of the broadcast are out of date. */
export async function hasNews(read: StoreReads, broadcast: Broadcast): Promise<boolean> {
  for (const member of broadcast.members) {
    if (member.status === "waiting" && (await outcomeOf(read, member)) !== "owed") return true;
  }
  return false;
}

/** Settles the members whose turns have ended, and the broadcast after the last one. */
export async function collect(tx: StoreTx, id: BroadcastId, now: number): Promise<Broadcast> {
  const broadcast = await tx.broadcasts.get(id);
  if (!broadcast) throw new AegisError("not_found", `no broadcast ${id}`);
  const ended: { member: BroadcastMember; end: Ended }[] = [];
  for (const member of broadcast.members) {
    if (member.status !== "waiting") continue;
    const outcome = await outcomeOf(tx, member);
    if (outcome === "owed") continue;
    if ("moved" in outcome) await tx.broadcasts.moveMember(id, member.session, outcome.moved);
    else ended.push({ member, end: outcome });
  }
  ended.sort((a, b) => a.end.at - b.end.at);
  for (const { member, end } of ended) await settleMember(tx, broadcast, member, end, now);
  return settleIfDone(tx, id, now);
}

/** Settles every member without a reply. Returns those with a running turn. */
export async function letOff(tx: StoreTx, id: BroadcastId, reason: string, now: number): Promise<BroadcastMember[]> {
  const broadcast = await collect(tx, id, now);
  const underWay: BroadcastMember[] = [];
  for (const member of broadcast.members) {
    if (member.status !== "waiting") continue;
    await settleMember(tx, broadcast, member, { status: "cancelled", turn: null, error: reason, at: now }, now);
    const message = await tx.messages.get(member.message);
    if (message?.status === "pending") await takeBack(tx, member, now);
    else underWay.push(member);
  }
  await settleIfDone(tx, id, now);
  return underWay;
}

async function takeBack(tx: StoreTx, { message, session }: BroadcastMember, now: number): Promise<void> {
  await tx.messages.setStatus([message], "cancelled", null);
  await tx.events.append({ type: "message.cancelled", session, data: { message } }, now);
}

async function settleMember(
  tx: StoreTx,
  broadcast: Broadcast,
  { session, handle }: BroadcastMember,
  { status, turn, error }: Ended,
  now: number,
): Promise<void> {
  const current = await tx.broadcasts.get(broadcast.id);
  const arrival = 1 + (current?.members ?? []).filter((member) => member.arrival !== null).length;
  await tx.broadcasts.settleMember(broadcast.id, session, { status, turn, error, arrival });
  const data = { ...(await naming(tx, broadcast)), handle, status, reply: turn, error };
  await tx.events.append({ type: "group.replied", session, data }, now);
}

async function settleIfDone(tx: StoreTx, id: BroadcastId, now: number): Promise<Broadcast> {
  const broadcast = await tx.broadcasts.get(id);
  if (!broadcast) throw new AegisError("not_found", `no broadcast ${id}`);
  if (broadcast.settled_at !== null || broadcast.members.some((member) => member.status === "waiting")) {
    return broadcast;
  }
  await tx.broadcasts.settle(id, now);
  const counts: Record<ReplyStatus, number> = { waiting: 0, ok: 0, error: 0, cancelled: 0 };
  for (const { status } of broadcast.members) counts[status] += 1;
  const data = { ...(await naming(tx, broadcast)), counts };
  await tx.events.append({ type: "group.settled", session: null, data }, now);
  return { ...broadcast, settled_at: now };
}

async function naming(tx: StoreTx, { id, group }: Broadcast) {
  return { group, name: (await tx.groups.get(group))?.name ?? group, broadcast: id };
}

async function outcomeOf(read: StoreReads, member: BroadcastMember): Promise<Outcome> {
  const message = await read.messages.get(member.message);
  switch (message?.status) {
    case "pending":
    case "dispatched":
      return "owed";
    case "cancelled":
      return failed("its message was taken back before it was read");
    case "refused":
      return failed("its session was closed before it read the message");
    case "lost":
      return failed("its message was lost when Aegis stopped", message.turn);
    case "done":
      return message.turn === null ? failed("its message had no turn") : endOf(read, member, message.turn);
    case undefined:
      return failed(`its message ${member.message} is gone`);
  }
}

async function endOf(read: StoreReads, member: BroadcastMember, id: TurnId): Promise<Outcome> {
  const turn = await read.turns.get(id);
  if (!turn) return failed(`its turn ${id} is gone`);
  if (turn.reason === null) return "owed";
  const at = turn.ended_at ?? 0;
  if (turn.reason === "completed") return { status: "ok", turn: id, error: null, at };
  if (turn.reason === "lost") {
    const moved = await continuationOf(read, turn);
    if (moved !== null) return { moved };
  }
  return { status: "error", turn: id, error: await reasonOf(read, member, turn, turn.reason), at };
}

/** An agent that resumes after a crash is told to continue: its reply is the turn in which it does so. */
async function continuationOf(read: StoreReads, turn: TurnRow): Promise<MessageId | null> {
  const [first] = await read.messages.inTurn(turn.id);
  if (!first) return null;
  const messages = await read.messages.list(turn.session);
  const next = messages.find(
    ({ sender, chain, admitted_at }) =>
      sender.kind === "substrate" && chain === first.chain && admitted_at >= (turn.ended_at ?? 0),
  );
  return next?.id ?? null;
}

async function reasonOf(
  read: StoreReads,
  member: BroadcastMember,
  turn: TurnRow,
  reason: Exclude<TurnReason, "completed">,
): Promise<string> {
  const words = {
    cancelled: "its turn was interrupted",
    failed: "its turn failed",
    refused: "its turn was refused",
    truncated: "its reply reached a limit",
    lost: "its turn was lost when Aegis stopped",
  }[reason];
  const session = await read.sessions.get(member.session);
  if (reason === "cancelled" && session?.closed_at !== null) return "its session was closed during its turn";
  return turn.error === null ? words : `${words}: ${turn.error.message}`;
}

function failed(error: string, turn: TurnId | null = null): Ended {
  return { status: "error", turn, error, at: 0 };
}
