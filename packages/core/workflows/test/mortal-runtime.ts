/** A runtime on a store that dies, for tests that stop runs after every commit. */
import { join } from "node:path";
import type { Ask } from "@aegis/contract/ask.ts";
import type { RunId } from "@aegis/contract/ids.ts";
import { buildRuntime, type Runtime } from "@aegis/daemon/build.ts";
import { DriverTable } from "@aegis/drivers/driver-table.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { buildRedactor, RedactedStream } from "@aegis/lib/redact.ts";
import { loadConfig } from "@aegis/project/config/load.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import type { TrustedSettings } from "@aegis/project/trust/trusted-settings.ts";
import type { Store } from "@aegis/store/store.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { testPlaces } from "@aegis/test/helpers/places.ts";
import { type TestReply, testDriver } from "@aegis/test/helpers/runtime.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { onTestFinished } from "vitest";
import { type MortalStore, mortalStore } from "../../../base/engine/test/mortal-store.ts";
import type { RunRequest } from "../src/workflows.ts";

export type Alive = { runtime: Runtime; store: MortalStore; end: AbortController };

/** A runtime whose store dies after so many commits. Every question is answered with yes. */
export async function boot(dir: string, sqlite: Store, lives: number, reply: TestReply): Promise<Alive> {
  const store = mortalStore(sqlite, lives);
  const { config } = await loadConfig({ cwd: dir, harnesses: ["scripted"] });
  if (!config) throw new Error("the empty configuration must load");
  const choice = { slug: offlineAgent.slug, why: "a test" };
  const settings = {
    config,
    files: [],
    agents: [offlineAgent],
    choice,
    diagnostics: [],
  } as unknown as TrustedSettings;
  const end = new AbortController();
  const driver = testDriver(reply);
  const ledgerFile = join(dir, "processes.jsonl");
  const runtime = buildRuntime({
    root: dir,
    stateDir: dir,
    places: testPlaces(dir),
    store,
    drivers: new DriverTable([driver]),
    clock: systemClock,
    log: silentLogger,
    processes: createProcesses({ ledgerFile, owner: dir, clock: systemClock, log: silentLogger }),
    env: { PATH: process.env.PATH },
    settings: () => settings,
    version: "test",
    url: () => "http://127.0.0.1:0",
    addSecret: () => () => {},
    redact: (text) => text,
    redactedStream: () => new RedactedStream(() => buildRedactor([])),
    trust: { trust: { mayRun: async () => ({ allowed: true }), judge: async () => ({ allowed: true }) } },
    signal: end.signal,
  });
  store.onCommit((events) => {
    for (const event of events) {
      if (event.type === "ask.opened")
        void runtime.asks.answer(event.data.ask.id, answerTo(event.data.ask)).catch(() => {});
    }
  });
  return { runtime, store, end };
}

/** As the daemon does, and as a person who sees what is still asked. */
async function takeUp({ runtime, store }: Alive, request: RunRequest): Promise<void> {
  await runtime.lifecycle.recover();
  for (const part of [runtime.asks, runtime.groups, runtime.broadcasts]) await part.resume();
  await runtime.sessions.wakeAll();
  await runtime.workflows.launch();
  for (const ask of await store.read.asks.list({ status: "open", limit: 10 })) {
    await runtime.asks.answer(ask.id, answerTo(ask)).catch(() => {});
  }
  await runtime.workflows.start(request);
}

export type LifeOptions<T> = {
  dir: string;
  request: RunRequest & { id: RunId };
  /** After so many commits it dies. */
  lives: number;
  boot: (sqlite: Store, lives: number) => Promise<Alive>;
  /** What happens once the run was taken up. */
  afterwards?: (alive: Alive) => Promise<unknown>;
  look: (sqlite: Store) => Promise<T>;
};

/** Starts a run, takes it up again after the death of its runtime, and looks once it is over and nothing is left of it. */
export async function live<T>(options: LifeOptions<T>): Promise<{ commits: number; effects: T }> {
  const { dir, request, lives } = options;
  const sqlite = await openSqliteStore({ path: join(dir, "aegis.db"), clock: systemClock, log: silentLogger });
  onTestFinished(() => sqlite.close());
  const isOver = async () => ((await sqlite.read.runs.get(request.id))?.ended_at ?? null) !== null;
  const first = await options.boot(sqlite, lives);
  void takeUp(first, request);
  await Promise.race([first.store.died, waitUntil("the run ends", isOver, 20_000)]);
  const last = lives === Number.POSITIVE_INFINITY ? first : await options.boot(sqlite, Number.POSITIVE_INFINITY);
  if (last !== first) {
    first.store.die();
    await takeUp(last, request);
  }
  await options.afterwards?.(last);
  await waitUntil(`nothing is left of the run after a stop at commit ${lives}`, async () => {
    const sessions = await sqlite.read.sessions.list();
    const groups = await sqlite.read.groups.list();
    return (await isOver()) && groups.length === 0 && sessions.every((session) => session.closed_at !== null);
  });
  const seen = { commits: first.store.commits, effects: await options.look(sqlite) };
  last.store.die();
  first.end.abort();
  last.end.abort();
  return seen;
}

function answerTo({ options }: Pick<Ask, "options">): { choice: string | null; text: string } {
  return options.length === 0 ? { choice: null, text: "yes" } : { choice: "yes", text: "" };
}
