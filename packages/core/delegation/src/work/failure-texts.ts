/** What is said of work that failed when its harness gave no reason of its own. */

/** The default error messages for one kind of work. */
export type FailureTexts = Record<"closed" | "cancelled" | "refused" | "truncated" | "lost" | "failed", string>;

export const workerFailures: FailureTexts = {
  closed: "the worker's session was closed before it was done",
  cancelled: "the worker's turn was interrupted",
  refused: "the worker refused the task",
  truncated: "the worker reached a limit",
  lost: "interrupted: Aegis stopped while the task was running",
  failed: "the worker's turn failed",
};

export const subagentFailures: FailureTexts = {
  closed: "its session was closed",
  cancelled: "its turn was interrupted",
  refused: "it refused the task",
  truncated: "it reached a limit",
  lost: "interrupted: Aegis stopped while it was working",
  failed: "its turn failed",
};
