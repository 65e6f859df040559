/** One real CLI in a home of its own, with a plane of its own; proves at the end that no process is left. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@aegis/contract/agent.ts";
import { newId } from "@aegis/contract/ids.ts";
import type { Conversation, Driver, DriverDeps, PlaneAddress } from "@aegis/drivers/driver.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { type Command, createProcesses } from "@aegis/lib/process.ts";
import { expect, onTestFinished } from "vitest";
import { agentOf } from "../helpers/agents.ts";
import { type DriverHost, type DriverHostOptions, driverHost } from "../helpers/driver-host.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import { type FakePlane, startFakePlane } from "./fake-plane.ts";

export type LiveSeat = {
  host: DriverHost;
  plane: FakePlane;
  /** The project's folder. */
  dir: string;
  agent: Agent;
  /** The pids of the processes that were started, in order. */
  pids: readonly number[];
  /** `fork` begins a new conversation from another; otherwise what was remembered last is taken up. */
  open(more?: { systemPrompt?: string; plane?: PlaneAddress; fork?: string | null }): Promise<Conversation>;
  close(): Promise<void>;
};

export async function liveSeat(
  createDriver: (deps: DriverDeps) => Driver,
  agent: Partial<Agent> & Pick<Agent, "harness">,
  options: DriverHostOptions & { env?: Record<string, string>; root?: string } = {},
): Promise<LiveSeat> {
  const root = options.root ?? (await tempDir());
  const [dir, stateDir, home] = [join(root, "project"), join(root, "state"), join(root, "home")];
  for (const folder of [dir, stateDir, home]) await mkdir(folder, { mode: 0o700 });
  const children = { ledgerFile: join(root, "children.jsonl"), owner: root, clock: systemClock, log: silentLogger };
  const processes = createProcesses(children);
  const pids: number[] = [];
  const counted = {
    ...processes,
    async start(command: Command, consent: Consent) {
      const child = await processes.start(command, consent);
      pids.push(child.pid);
      return child;
    },
  };
  const driver = createDriver({
    env: { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8", ...options.env },
    processes: counted,
    clock: systemClock,
    log: silentLogger,
  });
  const host = driverHost({ ...options, processes: counted });
  const plane = await startFakePlane();
  const profile = agentOf({ slug: "live", ...agent });
  const session = { id: newId("ses", 0), handle: "lucid-hertz" };
  let scope = new AsyncDisposableStack();

  onTestFinished(async () => {
    await scope.disposeAsync();
    await plane.close();
    expect(await createProcesses(children).sweep()).toEqual([]);
  });

  return {
    host,
    plane,
    dir,
    agent: profile,
    pids,
    open: (more = {}) =>
      driver.open(
        {
          session,
          agent: profile,
          cwd: dir,
          stateDir,
          systemPrompt: more.systemPrompt ?? "You are under test.",
          resume: more.fork === undefined ? host.resume : null,
          fork: more.fork ?? null,
          memory: [],
          plane: more.plane ?? plane.address,
          host,
        },
        scope,
      ),
    async close() {
      await scope.disposeAsync();
      scope = new AsyncDisposableStack();
    },
  };
}
