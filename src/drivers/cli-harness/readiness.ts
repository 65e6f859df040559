/** Checks whether a new process answers in time. */
import type { Clock } from "../../lib/clock.ts";

export type Readiness = "ready" | "refused" | "late";

export async function readiness(answer: Promise<unknown>, deadlineMs: number, clock: Clock): Promise<Readiness> {
  const over = new AbortController();
  const answered = answer.then(
    (): Readiness => "ready",
    (): Readiness => "refused",
  );
  const late = clock.sleep(deadlineMs, over.signal).then(
    (): Readiness => "late",
    (): Readiness => "late",
  );
  try {
    return await Promise.race([answered, late]);
  } finally {
    over.abort();
  }
}
