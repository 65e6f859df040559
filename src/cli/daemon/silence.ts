/** Reports a daemon that accepts connections and does not answer: its process is stopped or blocked. */
import type { Client } from "../../client/client.ts";
import type { Clock } from "../../lib/clock.ts";

/** Some calls take long in a healthy daemon, so another call decides whether it is one. */
const silentMs = 10_000;
const probeMs = 5_000;

export type SilenceOptions = {
  /** Asks for anything that a healthy daemon answers at once. */
  probe: (signal: AbortSignal) => Promise<unknown>;
  /** Called at most once, with the seconds that passed without an answer. */
  report: (seconds: number) => void;
  clock: Pick<Clock, "sleep">;
};

/** The same client. A call that waits for more than ten seconds makes it check whether the daemon answers at all. */
export function reportingSilence(client: Client, { probe, report, clock }: SilenceOptions): Client {
  let isReported = false;
  const check = async (answered: AbortSignal) => {
    await clock.sleep(silentMs, answered);
    const late = clock.sleep(probeMs, answered).then(() => true);
    const isSilent = await Promise.race([late, probe(answered).then(() => false)]);
    if (!isSilent || isReported || answered.aborted) return;
    isReported = true;
    report((silentMs + probeMs) / 1_000);
  };
  const watched = async <T>(request: Promise<T>): Promise<T> => {
    const answered = new AbortController();
    // It rejects when the answer is there, or when the daemon is gone, which the request says itself.
    check(answered.signal).catch(() => {});
    try {
      return await request;
    } finally {
      answered.abort();
    }
  };
  return {
    url: client.url,
    call: (name, ...input) => watched(client.call(name, ...input)),
    open: (name, ...input) => watched(client.open(name, ...input)),
  };
}
