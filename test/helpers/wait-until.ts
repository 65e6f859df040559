/** Waits for what another process does, where no gate can reach. Fails with the description when it never happens. */
import { setTimeout as delay } from "node:timers/promises";

export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`never happened within ${timeoutMs} ms: ${what}`);
    await delay(5);
  }
}
