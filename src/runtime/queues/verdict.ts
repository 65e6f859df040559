/** Derives the outcome of a task from the verdict on its worker's session. */
import type { TurnRow } from "../../store/store.ts";
import type { Ended, FailureTexts } from "../work/judge.ts";
import type { Ending } from "./callback.ts";

export const workerFailures: FailureTexts = {
  closed: "the worker's session was closed before it was done",
  cancelled: "the worker's turn was interrupted",
  refused: "the worker refused the task",
  truncated: "the worker reached a limit",
  lost: "interrupted: Aegis stopped while the task was running",
  failed: "the worker's turn failed",
};

/** `words` is the worker's last text, from an earlier turn if this one has none. */
export function endingOf({ turn, error }: Ended, words: string | null): Ending {
  if (turn !== null && error === null) return { status: "completed", result: turn.text };
  return { status: "failed", error: error ?? workerFailures.failed, words, retry: retryOf(turn) };
}

/** Errors that a retry cannot fix without a change of the configuration or the machine. */
const permanent: ReadonlySet<string> = new Set(["not_installed", "not_logged_in", "bad_model", "blocked", "lost"]);

function retryOf(turn: TurnRow | null): "no" | "later" {
  if (turn === null || turn.reason === "cancelled") return "no";
  if (turn.reason === "truncated" || turn.reason === "lost") return "later";
  return permanent.has(turn.error?.code ?? "") ? "no" : "later";
}
