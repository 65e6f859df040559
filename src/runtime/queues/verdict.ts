/** Whether a worker is done with its task, from what is on record of its session. */
import type { SessionId } from "../../contract/ids.ts";
import type { StoreReads, StoreTx, TurnRow } from "../../store/store.ts";
import { lastWords } from "../sessions/last-words.ts";
import type { Ending } from "./callback.ts";

/** What a session waits for that will end by itself, in words; none when it waits for nothing. */
export type StillWaiting = (session: SessionId) => Promise<readonly string[]>;

export type Verdict =
  | { kind: "working" }
  /** Its turn is over, but more is to come. */
  | { kind: "waiting"; reasons: readonly string[] }
  /** `stillTrue` is asked again in the transaction that writes the end. */
  | { kind: "ended"; ending: Ending; stillTrue: (tx: StoreTx) => Promise<boolean> };

export async function judge(read: StoreReads, worker: SessionId, waiting: readonly StillWaiting[]): Promise<Verdict> {
  const session = await read.sessions.get(worker);
  if (!session) return { kind: "working" };
  if (session.closed_at !== null) {
    const error = "the worker's session was closed before it was done";
    const words = await lastWords(read, worker);
    return { kind: "ended", ending: { status: "failed", error, words, retry: "no" }, stillTrue: async () => true };
  }
  const [turn] = await read.turns.list(worker, 1);
  if (turn === undefined || turn.ended_at === null) return { kind: "working" };
  const unread = await read.messages.countPending(worker);
  if (turn.reason === "completed") {
    const reasons = unread === 0 ? [] : [`${unread} unread message(s)`];
    for (const waits of waiting) reasons.push(...(await waits(worker)));
    if (reasons.length > 0) return { kind: "waiting", reasons };
  } else if (unread > 0) {
    return { kind: "working" };
  }
  return { kind: "ended", ending: endingOf(turn), stillTrue: (tx) => isIdleSince(tx, worker, turn) };
}

/** Such a failure meets the next try as well: somebody has to change something first. */
const permanent: ReadonlySet<string> = new Set(["not_installed", "not_logged_in", "bad_model", "blocked"]);

function endingOf(turn: TurnRow): Ending {
  const words = turn.text === "" ? null : turn.text;
  const message = turn.error?.message;
  switch (turn.reason) {
    case "failed":
    case null:
      return {
        status: "failed",
        error: message ?? "the worker's turn failed",
        words,
        retry: permanent.has(turn.error?.code ?? "") ? "no" : "later",
      };
    case "refused":
      return {
        status: "failed",
        error: message ?? "the worker refused the task",
        words,
        retry: permanent.has(turn.error?.code ?? "") ? "no" : "later",
      };
    case "truncated":
      return { status: "failed", error: message ?? "the worker was cut off at a limit", words, retry: "later" };
    case "lost":
      return { status: "failed", error: interruptedError, words, retry: "later" };
    case "cancelled":
      return { status: "failed", error: "the worker's turn was interrupted", words, retry: "no" };
    case "completed":
      return { status: "completed", result: turn.text };
  }
}

export const interruptedError = "interrupted: Aegis stopped while the task was under way";

async function isIdleSince(tx: StoreTx, worker: SessionId, turn: TurnRow): Promise<boolean> {
  const [newest] = await tx.turns.list(worker, 1);
  return newest?.id === turn.id && (await tx.messages.countPending(worker)) === 0;
}
