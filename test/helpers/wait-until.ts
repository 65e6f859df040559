/** Waits for what another process does, where no gate can reach. Fails with the description when it never happens. */
import { setTimeout as delay } from "node:timers/promises";
import { scaled } from "./slowness.ts";

const firstPauseMs = 2;
const longestPauseMs = 25;

/** The limit is that of an idle machine. */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 10_000,
): Promise<void> {
  const from = performance.now();
  let pause = firstPauseMs;
  while (!(await condition())) {
    // Read again each time: the machine may have become busy since the wait began.
    const limit = scaled(timeoutMs);
    if (performance.now() - from > limit) throw new Error(`never happened within ${limit} ms: ${what}`);
    await delay(pause);
    pause = Math.min(longestPauseMs, pause * 1.5);
  }
}
