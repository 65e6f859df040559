/** Whether a subagent has ended, from what is on record of its session. */
import type { SessionId } from "../../contract/ids.ts";
import type { StoreReads, StoreTx, SubagentRow, TurnRow } from "../../store/store.ts";
import { lastWords } from "../sessions/last-words.ts";
import type { Ending } from "./words.ts";

/** What a session waits for that will end by itself, in words; none when it waits for nothing. */
export type StillWaiting = (session: SessionId) => Promise<readonly string[]>;

/** Null while it has something to do, or somebody below it has. */
export async function judge(from: StoreReads | StoreTx, { session }: SubagentRow): Promise<Ending | null> {
  const row = await from.sessions.get(session);
  if (row === null) return null;
  if (row.closed_at !== null) {
    return { status: "killed", result: await lastWords(from, session), error: "its session was closed" };
  }
  const [turn] = await from.turns.list(session, 1);
  if (turn === undefined || turn.ended_at === null) return null;
  if ((await from.messages.countPending(session)) > 0) return null;
  if ((await from.subagents.countRunning(session)) > 0) return null;
  return endingOf(turn);
}

function endingOf(turn: TurnRow): Ending {
  const result = turn.text === "" ? null : turn.text;
  const failed = (error: string): Ending => ({ status: "error", result, error: turn.error?.message ?? error });
  switch (turn.reason) {
    case "completed":
      return { status: "done", result, error: null };
    case "cancelled":
      return failed("its turn was interrupted");
    case "refused":
      return failed("it refused the task");
    case "truncated":
      return failed("it was cut off at a limit");
    case "lost":
      return failed(interruptedError);
    case "failed":
    case null:
      return failed("its turn failed");
  }
}

export const interruptedError = "interrupted: Aegis stopped while it was at work";
