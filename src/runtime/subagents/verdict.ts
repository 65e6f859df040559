/** Derives the outcome of a subagent from the verdict on its session. */
import type { SessionId } from "../../contract/ids.ts";
import type { StoreReads, StoreTx } from "../../store/store.ts";
import type { LastText } from "../sessions/last-text.ts";
import { type FailureTexts, judge, type StillWaiting } from "../work/judge.ts";
import type { Ending } from "./words.ts";

export const subagentFailures: FailureTexts = {
  closed: "its session was closed",
  cancelled: "its turn was interrupted",
  refused: "it refused the task",
  truncated: "it reached a limit",
  lost: "interrupted: Aegis stopped while it was at work",
  failed: "its turn failed",
};

/** Null while the subagent or one of its descendants has work left. */
export async function endingOf(
  from: StoreReads | StoreTx,
  session: SessionId,
  lastText: LastText,
  waiting: readonly StillWaiting[] = [],
): Promise<Ending | null> {
  const verdict = await judge(from, session, waiting, subagentFailures);
  if (verdict.kind !== "ended") return null;
  const { turn, error } = verdict;
  if (turn === null) return { status: "killed", result: await lastText(from, session), error };
  if ((await from.subagents.countRunning(session)) > 0) return null;
  return { status: error === null ? "done" : "error", result: turn.text === "" ? null : turn.text, error };
}
