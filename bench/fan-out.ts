/** Runs subscribers in a process of their own, so that reading does not slow down who is measuring. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { ended } from "./bare/start.ts";
import type { BenchDaemon } from "./daemon.ts";

/** How late each event came, in milliseconds, over all subscribers; and when the last of them had everything. */
export type Seen = { events: number; lags: number[]; at: number };

export type Subscribers = {
  /** Everything up to this event, once all subscribers have it. Can be asked for once. */
  readUntil(seq: number): Promise<Seen>;
};

const program = fileURLToPath(new URL("subscribers.ts", import.meta.url));
const deadlineMs = 60_000;

/** They follow from now on, and end with the scope. */
export async function subscribeMany(
  { file }: BenchDaemon,
  count: number,
  scope: AsyncDisposableStack,
): Promise<Subscribers> {
  const child = fork(program, [file.url, file.token, String(count)]);
  scope.defer(() => ended(child));
  await once(child, "message", { signal: AbortSignal.timeout(deadlineMs) });
  return {
    async readUntil(seq) {
      child.send({ until: seq });
      const [seen] = await once(child, "message", { signal: AbortSignal.timeout(deadlineMs) });
      return seen as Seen;
    },
  };
}
