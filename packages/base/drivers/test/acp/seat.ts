/** One ACP driver on the fixture agent, with everything a test may want to change about it. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@aegis/contract/agent.ts";
import { newId } from "@aegis/contract/ids.ts";
import { type Clock, systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { type DriverHost, type DriverHostOptions, driverHost } from "@aegis/test/helpers/driver-host.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { eventsOf, runTurn, textOf } from "@aegis/test/helpers/turns.ts";
import { expect, onTestFinished } from "vitest";
import { createAcpDriver } from "../../src/acp/driver.ts";
import type { AcpRecipe } from "../../src/acp/recipe.ts";
import { custom } from "../../src/acp/recipes/custom.ts";
import type { Conversation, Driver, DriverEvent, PlaneAddress } from "../../src/driver.ts";
import { fixtureAgent } from "./fixture-agent.ts";

export type SeatOptions = {
  flags?: readonly string[];
  agent?: Partial<Agent>;
  /** Changes of the recipe for any ACP agent. */
  recipe?: Partial<AcpRecipe>;
  host?: DriverHostOptions;
  plane?: PlaneAddress | null;
  clock?: Clock;
  env?: Record<string, string>;
};

export type Seat = {
  driver: Driver;
  host: DriverHost;
  cwd: string;
  stateDir: string;
  /** Opens with what was remembered; `changes` replace the agent from now on. */
  open(changes?: { flags?: readonly string[]; systemPrompt?: string }): Promise<Conversation>;
  run(conversation: Conversation, word: string): Promise<DriverEvent[]>;
  /** What the fixture says to a word, as text. */
  ask(conversation: Conversation, word: string): Promise<string>;
  /** Ends the process of the last conversation. */
  close(): Promise<void>;
};

export async function seat(options: SeatOptions = {}): Promise<Seat> {
  const root = await tempDir();
  const [cwd, stateDir, home] = [join(root, "project"), join(root, "state"), join(root, "home")];
  for (const folder of [cwd, stateDir, home]) await mkdir(folder);
  const clock = options.clock ?? systemClock;
  const children = { ledgerFile: join(root, "children.jsonl"), owner: root, clock, log: silentLogger };
  const deps = {
    env: { PATH: process.env.PATH, HOME: home, SECRET_OF_DAEMON: "s3cret-value", ...options.env },
    processes: createProcesses(children),
    clock,
    log: silentLogger,
  };
  const driver = createAcpDriver(deps, { ...custom, ...options.recipe });
  const host = driverHost({ ...options.host, processes: deps.processes });
  const memory: unknown[] = [];
  let scope = new AsyncDisposableStack();
  onTestFinished(async () => {
    await scope.disposeAsync();
    expect(await createProcesses({ ...children, clock: systemClock }).sweep()).toEqual([]);
  });

  const run = async (conversation: Conversation, word: string) => {
    const events = await runTurn(conversation, `do:${word}`);
    memory.push(...eventsOf(events, "memory").map((event) => event.value));
    return events;
  };
  return {
    driver,
    host,
    cwd,
    stateDir,
    async open(changes = {}) {
      await scope.disposeAsync();
      scope = new AsyncDisposableStack();
      return driver.open(
        {
          session: { id: newId("ses", 0), handle: "lucid-hertz" },
          agent: fixtureAgent(changes.flags ?? options.flags ?? [], options.agent),
          cwd,
          stateDir,
          systemPrompt: changes.systemPrompt ?? "You are a fixture.",
          resume: host.resume,
          fork: null,
          memory: [...memory],
          plane: options.plane === undefined ? null : options.plane,
          host,
        },
        scope,
      );
    },
    run,
    ask: async (conversation, word) => textOf(await run(conversation, word)),
    close: () => scope.disposeAsync(),
  };
}

/** A plane of which nothing is real but whether the agent reached it and listed its tools. */
export function planeStub(listed: boolean, asked: number[] = [], reached = true): PlaneAddress {
  return {
    url: "http://127.0.0.1:9/mcp",
    token: "plane-token",
    reached: async () => reached,
    calls: () => ({ open: 0, answeredAt: 0 }),
    async listed(ms) {
      asked.push(ms);
      return listed;
    },
  };
}
