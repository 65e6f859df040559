/** Decides from stored rows whether a session has finished the work it was given. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { StoreReads, StoreTx, TurnRow } from "@aegis/store/store.ts";
import type { FailureTexts } from "./failure-texts.ts";

/** Describes what a session waits for that will end without its help; empty when it waits for nothing. */
export type StillWaiting = (session: SessionId) => Promise<readonly string[]>;

export type WorkVerdict =
  | { kind: "working" }
  /** Its turn is over, but more is to come. */
  | { kind: "waiting"; reasons: readonly string[] }
  | EndedWork;

export type EndedWork = {
  kind: "ended";
  /** The session's last turn; null if the session was closed. */
  turn: TurnRow | null;
  /** Null if the turn completed. */
  error: string | null;
  /** Call it in the transaction that writes the end, unless the verdict was reached in that transaction. */
  stillTrue: (tx: StoreTx) => Promise<boolean>;
};

/** `from` may be a transaction. Only work that completed waits for more; failed work ends immediately. */
export async function judge(
  from: StoreReads | StoreTx,
  session: SessionId,
  waiting: readonly StillWaiting[],
  texts: FailureTexts,
): Promise<WorkVerdict> {
  const row = await from.sessions.get(session);
  if (row === null) return { kind: "working" };
  if (row.closed_at !== null) {
    return { kind: "ended", turn: null, error: texts.closed, stillTrue: async () => true };
  }
  const [turn] = await from.turns.list(session, 1);
  if (turn === undefined || turn.ended_at === null) return { kind: "working" };
  const unread = await from.messages.countPending(session);
  if (turn.reason === "completed") {
    const reasons = unread === 0 ? [] : [`${unread} unread message(s)`];
    for (const waits of waiting) reasons.push(...(await waits(session)));
    if (reasons.length > 0) return { kind: "waiting", reasons };
  } else if (unread > 0) {
    return { kind: "working" };
  }
  return { kind: "ended", turn, error: errorOf(turn, texts), stillTrue: (tx) => isIdleSince(tx, session, turn) };
}

/** The error stored with a lost turn is about that turn, not about the work. */
function errorOf({ reason, error }: TurnRow, texts: FailureTexts): string | null {
  if (reason === "completed") return null;
  return reason === "lost" ? texts.lost : (error?.message ?? texts[reason ?? "failed"]);
}

async function isIdleSince(tx: StoreTx, session: SessionId, turn: TurnRow): Promise<boolean> {
  const [newest] = await tx.turns.list(session, 1);
  return newest?.id === turn.id && (await tx.messages.countPending(session)) === 0;
}
