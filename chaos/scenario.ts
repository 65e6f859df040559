/** A kind of work that runs while the daemon is killed, and the check of its results. */
import type { Client } from "@aegis/client/client.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { Finding } from "./check.ts";

export interface Scenario {
  /** What the project needs for it: path → text. */
  readonly files: Readonly<Record<string, string>>;
  /** The longest life of a daemon between two kills, if this work needs more time than others. */
  readonly lifeMs?: number;
  /** Once, before the first daemon. */
  arrange?(project: string): Promise<void>;
  /** Once, with the first daemon. */
  prepare(client: Client): Promise<void>;
  /** Keeps the daemon busy until it is stopped. A dead daemon is what it is here for: never throws for that. */
  load(client: Client, round: number): Work;
  /** Kills something else than the daemon, in the middle of its life. */
  disturb?(project: string): Promise<void>;
  /** With a daemon that lives: repeats what was not answered. */
  finish(client: Client): Promise<void>;
  /** Resolves when a daemon that lives has nothing left to do. */
  drained(client: Client): Promise<void>;
  /** `project` is the folder in which agents wrote what they did. */
  check(events: readonly Event[], project: string): Promise<Checked>;
  /** How far it is, in a few words. */
  progress(): string;
}

/** What was found, and how much of what there was. */
export type Checked = { findings: Finding[]; counts: Record<string, number> };

export type Work = { stop(): Promise<void> };

/** Work that runs until it is stopped. Its error is thrown then. */
export function goOn(work: (signal: AbortSignal) => Promise<unknown>): Work {
  const stopping = new AbortController();
  const done = work(stopping.signal);
  done.catch(() => {});
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

/** Asks until the answer is yes. */
export async function until(what: string, deadlineMs: number, done: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await done())) {
    if (performance.now() > deadline) throw new Error(`${what} was not there after ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Until no message waits and no session works. */
export function untilIdle(client: Client): Promise<void> {
  return until("the end of all messages", 300_000, async () => {
    const status = await client.call("status");
    return status.pending_messages === 0 && status.sessions.working === 0;
  });
}
