/** A runtime whose sessions say what the test tells them to, when it tells them to. */

import type { Brief } from "@aegis/contract/group.ts";
import type { DriverEvent } from "@aegis/drivers/driver.ts";
import {
  cancelled,
  completed,
  said,
  type TestRuntime,
  type TestTurn,
  testDriver,
  testRuntime,
} from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { onTestFinished } from "vitest";

export const brief: Brief = {
  objective: "find the bug",
  output_format: "one line",
  tool_guidance: "read only",
  boundaries: "leave the tests alone",
};

export const human = { kind: "human" } as const;
export const never = new AbortController().signal;

type Ending = readonly DriverEvent[];

export class Stage {
  #closed = false;
  readonly #turns: (TestTurn & { end: PromiseWithResolvers<Ending>; over: boolean })[] = [];

  /** Ends when told to, or as cancelled when cut. */
  readonly reply = async function* (this: Stage, turn: TestTurn): AsyncGenerator<DriverEvent> {
    const entry = { ...turn, end: Promise.withResolvers<Ending>(), over: false };
    this.#turns.push(entry);
    if (turn.signal.aborted || this.#closed) entry.end.resolve([cancelled]);
    turn.signal.addEventListener("abort", () => entry.end.resolve([cancelled]), { once: true });
    const events = await entry.end.promise;
    entry.over = true;
    yield* events;
  }.bind(this);

  /** Waits for the member's turn in progress. */
  async turnOf(handle: string): Promise<TestTurn> {
    await waitUntil(`${handle} has a turn`, () => this.#open(handle) !== undefined);
    return this.#open(handle) as TestTurn;
  }

  /** Ends the member's turn in progress with these events. */
  async end(handle: string, ...events: DriverEvent[]): Promise<void> {
    await this.turnOf(handle);
    const turn = this.#open(handle);
    if (turn === undefined) throw new Error(`${handle} has no turn`);
    turn.over = true;
    turn.end.resolve(events);
  }

  async say(handle: string, text: string): Promise<void> {
    await this.end(handle, said(text), completed);
  }

  working(handle: string): boolean {
    return this.#open(handle) !== undefined;
  }

  /** Ends every turn, also those that begin later: one may be about to when the test ends. */
  close(): void {
    this.#closed = true;
    for (const turn of this.#turns) turn.end.resolve([cancelled]);
  }

  #open(handle: string) {
    return this.#turns.find((turn) => turn.spec.session.handle === handle && !turn.over);
  }
}

export type Team = TestRuntime & { stage: Stage };

export async function team(dir?: string, options: { resume?: boolean } = {}): Promise<Team> {
  const stage = new Stage();
  const driver = testDriver(stage.reply, { resume: options.resume === false ? false : "anywhere" });
  const runtime = await testRuntime(dir ?? (await memoryDir()), driver);
  onTestFinished(() => stage.close());
  return Object.assign(runtime, { stage });
}

/** A group of so many members. Gives their handles in the order they joined. */
export async function gather(runtime: Team, group: string, count: number): Promise<string[]> {
  const { handles } = await runtime.groups.spawn({ group, agents: Array.from({ length: count }, () => "offline") });
  return handles;
}

export async function ask(runtime: Team, group: string, change: Partial<Brief> = {}) {
  return runtime.broadcasts.send({ group, sender: human, ...brief, ...change });
}

export function waitAll(runtime: Team, group: string, timeout = 20, reducer?: string) {
  return runtime.broadcasts.wait({ group, mode: "all", timeout, reducer }, never);
}

export function waitAny(runtime: Team, group: string, timeout = 20, cancel_losers?: boolean) {
  return runtime.broadcasts.wait({ group, mode: "any", timeout, cancel_losers }, never);
}

/** At least two handles, for tests that name them. */
export function pair(handles: readonly string[]): [string, string, ...string[]] {
  const [a, b, ...rest] = handles;
  if (a === undefined || b === undefined) throw new Error("expected two members");
  return [a, b, ...rest];
}
