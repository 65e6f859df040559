/** One driver, its host and its conversations for one case; proves at the end that no process is left. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "@aegis/contract/ids.ts";
import type { Conversation, Driver, DriverDeps, DriverEvent, PlaneAddress, Prompt } from "@aegis/drivers/driver.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { expect, onTestFinished } from "vitest";
import { type DriverHost, type DriverHostOptions, driverHost } from "../helpers/driver-host.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import { eventsOf, runTurn } from "../helpers/turns.ts";
import type { Behaviour, DriverUnderTest } from "./driver-behaviours.ts";

export type Opened = { conversation: Conversation; scope: AsyncDisposableStack };

export type Bench = {
  driver: Driver;
  host: DriverHost;
  planeToken: string;
  open(): Promise<Opened>;
  /** As the next daemon would: with the name and the memory that were stored. An earlier name can be given instead. */
  reopen(resume?: string): Promise<Opened>;
  /** Another session that begins with what this one remembers. */
  fork(): Promise<Opened>;
  /** A picture of one pixel. */
  image: string;
  /** Runs a turn and stores its memory. */
  run(conversation: Conversation, prompt: string | Prompt): Promise<DriverEvent[]>;
};

export async function createBench(
  underTest: DriverUnderTest,
  behaviour: Behaviour,
  options: DriverHostOptions = {},
): Promise<Bench> {
  const root = await tempDir();
  const dir = join(root, "project");
  const stateDir = join(root, "state");
  const home = join(root, "home");
  for (const folder of [dir, stateDir, home]) await mkdir(folder, { mode: 0o700 });

  const image = join(root, "pixel.png");
  await writeFile(image, onePixel);
  const children = { ledgerFile: join(root, "children.jsonl"), owner: root, clock: systemClock, log: silentLogger };
  const deps: DriverDeps = {
    env: { PATH: process.env.PATH, HOME: home, TMPDIR: root },
    processes: createProcesses(children),
    clock: systemClock,
    log: silentLogger,
  };
  const { driver, agent } = await underTest.make({ behaviour, deps, dir });
  const host = driverHost({ ...options, processes: deps.processes });
  const planeToken = `secret-${crypto.randomUUID()}`;
  const memory: unknown[] = [];
  const scopes: AsyncDisposableStack[] = [];

  onTestFinished(async () => {
    for (const scope of scopes) await scope.disposeAsync();
    // A table without children of its own sees every process that carries this bench's mark.
    expect(await createProcesses(children).sweep()).toEqual([]);
  });

  const session = { id: newId("ses", 0), handle: "lucid-hertz" };
  const start = async (resume: string | null, fork: string | null = null): Promise<Opened> => {
    const scope = new AsyncDisposableStack();
    scopes.push(scope);
    const conversation = await driver.open(
      {
        session,
        agent,
        cwd: dir,
        stateDir,
        systemPrompt: "You are a fixture.",
        resume,
        fork,
        memory: [...memory],
        wantsRecord: true,
        plane: silentPlane(planeToken),
        host,
      },
      scope,
    );
    return { conversation, scope };
  };

  return {
    driver,
    host,
    planeToken,
    open: () => start(null),
    reopen: (resume) => start(resume ?? host.resume),
    fork: () => start(null, host.resume),
    image,
    async run(conversation, prompt) {
      const events = await runTurn(conversation, prompt);
      memory.push(...eventsOf(events, "memory").map((event) => event.value));
      return events;
    },
  };
}

const onePixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** An address where no server listens: a fixture never calls the plane. */
function silentPlane(token: string): PlaneAddress {
  return {
    url: "http://127.0.0.1:9/mcp",
    token,
    reached: async () => true,
    listed: async () => true,
    calls: () => ({ open: 0, answeredAt: 0 }),
  };
}
