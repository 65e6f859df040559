/** A kind of work that goes on while the daemon is killed, and the look at it afterwards. */
import type { Client } from "../src/client/client.ts";
import type { Event } from "../src/contract/event.ts";
import type { Finding } from "./check.ts";

export interface Scenario {
  /** What the project needs for it: path → text. */
  readonly files: Readonly<Record<string, string>>;
  /** Once, with the first daemon. */
  prepare(client: Client): Promise<void>;
  /** Keeps the daemon busy until it is stopped. A dead daemon is what it is here for: never throws for that. */
  load(client: Client): { stop(): Promise<void> };
  /** With a daemon that lives: repeats what was not answered. */
  finish(client: Client): Promise<void>;
  /** Resolves when a daemon that lives has nothing left to do. */
  drained(client: Client): Promise<void>;
  check(events: readonly Event[]): Finding[];
  /** How far it is, in a few words. */
  progress(): string;
}

/** Asks until the answer is yes. */
export async function until(what: string, deadlineMs: number, done: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await done())) {
    if (performance.now() > deadline) throw new Error(`${what} was not there after ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
