/** The result of a wait, built from the stored broadcast and its turns. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Broadcast, BroadcastMember, GroupResult, MemberReply, Replies } from "@aegis/contract/group.ts";
import { errorText } from "@aegis/lib/log.ts";
import { onAbort, untilAborted } from "@aegis/lib/until-aborted.ts";
import type { StoreReads } from "@aegis/store/store.ts";
import type { Reducer, ReducerReply } from "./reducers.ts";

/** The replies of all settled members, in order of arrival. */
export async function repliesOf(read: StoreReads, broadcast: Broadcast): Promise<Replies> {
  const replies: Replies = {};
  for (const member of inOrder(broadcast)) {
    if (member.status !== "waiting") replies[member.handle] = await replyOf(read, member, member.status);
  }
  return replies;
}

/** `late`: the timeout came before enough members had replied. */
export async function resultOf(
  read: StoreReads,
  broadcast: Broadcast,
  options: { reducer: Reducer; late: boolean; signal: AbortSignal },
): Promise<GroupResult> {
  const replies = await repliesOf(read, broadcast);
  const failed = broadcast.members.filter((member) => member.status === "error");
  const waiting = broadcast.members.filter((member) => member.status === "waiting");
  const good = Object.values(replies).filter((reply) => reply.status === "ok");
  return {
    broadcast_id: broadcast.id,
    by_member: replies,
    combined: await combine(options.reducer, good, options.signal),
    errors: Object.fromEntries(failed.map(({ handle, error }) => [handle, error ?? "no reply"])),
    timeouts: options.late ? waiting.map((member) => member.handle).sort() : [],
  };
}

/** The time limit of a reducer. */
const longestReduceMs = 30_000;

/** The first successful reply. */
export const firstReply: Reducer = (replies) => replies[0]?.text ?? "";

function inOrder({ members }: Broadcast): BroadcastMember[] {
  return [...members].sort((a, b) => (a.arrival ?? Infinity) - (b.arrival ?? Infinity));
}

async function replyOf(
  read: StoreReads,
  { handle, turn: id }: BroadcastMember,
  status: MemberReply["status"],
): Promise<MemberReply> {
  const turn = id === null ? null : await read.turns.get(id);
  const usage = turn?.usage ?? null;
  return {
    handle,
    text: turn?.text ?? "",
    turn_ms: turn === null || turn.ended_at === null ? null : turn.ended_at - turn.started_at,
    tokens_in: usage === null ? null : usage.input + usage.cache_read + usage.cache_write,
    tokens_out: usage?.output ?? null,
    status,
  };
}

async function combine(reducer: Reducer, replies: readonly ReducerReply[], signal: AbortSignal): Promise<unknown> {
  const given = replies.map(({ handle, text }) => ({ handle, text }));
  try {
    const combined: unknown = await inTime((until) => reducer(given, until), signal);
    // Fails here, where the error can name the reducer, instead of where the result is sent.
    return JSON.parse(JSON.stringify(combined ?? null)) as unknown;
  } catch (error) {
    signal.throwIfAborted();
    throw new AegisError("internal", `the replies are available, but the reducer failed: ${errorText(error)}`, {
      hint: "wait again with another reducer",
      cause: error,
    });
  }
}

/** The result of `work`. Throws after the time limit, or when no caller waits. */
async function inTime<T>(work: (signal: AbortSignal) => T | Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const over = new AbortController();
  const late = new Error(`it took longer than ${longestReduceMs / 1000} s`);
  const timer = setTimeout(() => over.abort(late), longestReduceMs);
  const release = onAbort(signal, () => over.abort(signal.reason));
  try {
    return await untilAborted(Promise.try(work, over.signal), over.signal);
  } finally {
    clearTimeout(timer);
    release();
  }
}
