/** A runtime whose agents do what the test says, and whose plane tools the test calls in their place. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { DriverEvent } from "@aegis/drivers/driver.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { SubagentRow } from "@aegis/store/store.ts";
import {
  cancelled,
  completed,
  said,
  type TestDriver,
  type TestRuntime,
  type TestTurn,
  testDriver,
  testRuntime,
} from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { onTestFinished } from "vitest";

type OpenTurn = TestTurn & { end: PromiseWithResolvers<readonly DriverEvent[]>; over: boolean; deaf: boolean };

let calls = 0;

export class Forest {
  readonly runtime: TestRuntime;
  readonly dir: string;
  readonly #turns: OpenTurn[];

  constructor(runtime: TestRuntime, dir: string, turns: OpenTurn[]) {
    this.runtime = runtime;
    this.dir = dir;
    this.#turns = turns;
  }

  get driver(): TestDriver {
    return this.runtime.driver;
  }

  /** A session that a person started, with its first turn in progress. */
  async root(prompt = "begin"): Promise<SessionId> {
    const { session } = await this.runtime.sessions.create({ prompt });
    await this.turnOf(session.id);
    return session.id;
  }

  /** Calls a plane tool as the session would. The same key is the same call. */
  async call(caller: SessionId, name: string, input: unknown, key = `call-${calls++}`, signal?: AbortSignal) {
    await waitUntil(`${caller} has a conversation`, () => this.#turns.some((turn) => turn.session === caller));
    const turn = this.#turns.findLast((one) => one.session === caller);
    if (turn === undefined) throw new Error(`${caller} has no conversation`);
    return turn.spec.host.tools.call(name, input, { key, signal: signal ?? new AbortController().signal });
  }

  /** Starts a subagent and gives its row once its turn is in progress. */
  async spawn(caller: SessionId, input: Record<string, unknown> = {}, key?: string): Promise<SubagentRow> {
    const outcome = await this.call(caller, "sessions_spawn", { task: "do it", ...input }, key);
    if (outcome.is_error) throw new Error(outcome.output);
    const run = /^Spawned: ([0-9a-f]{12}) \(agent: \S+, label: .+\)$/.exec(outcome.output)?.[1] ?? "";
    const row = await this.row(run);
    await this.turnOf(row.session);
    return row;
  }

  async row(run: string): Promise<SubagentRow> {
    const row = await this.runtime.store.read.subagents.get(run);
    if (row === null) throw new Error(`no run ${run}`);
    return row;
  }

  async turnOf(session: SessionId): Promise<TestTurn> {
    await waitUntil(`${session} has a turn`, () => this.isWorking(session));
    return this.#open(session) as OpenTurn;
  }

  isWorking(session: SessionId): boolean {
    return this.#open(session) !== undefined;
  }

  /** Ends the session's turn in progress. */
  async end(session: SessionId, ...events: DriverEvent[]): Promise<void> {
    await this.turnOf(session);
    const turn = this.#open(session) as OpenTurn;
    turn.over = true;
    turn.end.resolve(events);
  }

  async say(session: SessionId, text: string): Promise<void> {
    await this.end(session, said(text), completed);
  }

  /** The session's agent no longer reacts, not even to being interrupted. */
  async deafen(session: SessionId): Promise<void> {
    await this.turnOf(session);
    (this.#open(session) as OpenTurn).deaf = true;
  }

  async ended(run: string): Promise<SubagentRow> {
    await waitUntil(`${run} has ended`, async () => (await this.row(run)).status !== "running");
    return this.row(run);
  }

  /** Announcements that were put into a session's inbox, oldest first. */
  async announcements(session: SessionId): Promise<string[]> {
    const messages = await this.runtime.store.read.messages.list(session);
    return messages.filter((one) => one.sender.kind === "substrate").map((one) => one.body);
  }

  #open(session: SessionId): OpenTurn | undefined {
    return this.#turns.find((turn) => turn.session === session && !turn.over);
  }
}

/** With the same folder again it is the runtime after a restart. */
export type ForestOptions = { dir?: string; config?: string; resume?: boolean; clock?: Clock };

export async function forest(options: ForestOptions = {}): Promise<Forest> {
  const dir = options.dir ?? (await memoryDir());
  if (options.config !== undefined) await writeFile(join(dir, ".aegis.yaml"), options.config);
  const turns: OpenTurn[] = [];
  let closed = false;
  async function* reply(turn: TestTurn): AsyncGenerator<DriverEvent> {
    const entry: OpenTurn = { ...turn, end: Promise.withResolvers(), over: false, deaf: false };
    turns.push(entry);
    const cut = () => {
      if (!entry.deaf || closed) entry.end.resolve([cancelled]);
    };
    if (turn.signal.aborted || closed) cut();
    turn.signal.addEventListener("abort", cut, { once: true });
    const events = await entry.end.promise;
    entry.over = true;
    yield* events;
  }
  const driver = testDriver(reply, { resume: options.resume === false ? false : "anywhere" });
  if (options.resume === false) driver.restored = { conversation: false, holds: async () => "no" };
  const runtime = await testRuntime(dir, driver, options.clock === undefined ? {} : { clock: options.clock });
  onTestFinished(() => {
    closed = true;
    for (const turn of turns) turn.end.resolve([cancelled]);
  });
  await runtime.recover();
  return new Forest(runtime, dir, turns);
}
