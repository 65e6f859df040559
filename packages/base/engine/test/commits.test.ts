/** What a run costs the disk. A commit is an fsync: one more for each step would halve the speed of every workflow. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { silentLogger } from "@aegis/lib/log.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { act, type Body, define } from "@aegis/test/suites/engine-suite.ts";
import { expect, it, onTestFinished } from "vitest";
import { EmbeddedEngine } from "../src/embedded/engine.ts";
import { type MortalStore, mortalStore } from "./mortal-store.ts";

const hooks = { onGivenUp: async () => {}, onEnd: async () => "none" as const, afterEnd: async () => {} };

type Cost = { commits: number; pages: number };

/** What a run of the body costs, from its start to its end. */
async function costOf(body: Body): Promise<Cost> {
  const path = join(await tempDir(), "aegis.db");
  const clock = fakeClock(1_000_000);
  const sqlite = await openSqliteStore({ path, clock, log: silentLogger });
  onTestFinished(() => sqlite.close());
  const store = mortalStore(sqlite);
  const engine = new EmbeddedEngine({ store, clock, log: silentLogger, hooks, exclusive: true });
  onTestFinished(() => engine.stop());
  engine.define(define("work", body));
  const run = async () => {
    const { id } = await engine.start({ workflow: "work", args: {} });
    expect(await engine.settled(id)).toMatchObject({ status: "ok" });
  };
  // The first rows of a table take pages of their own.
  await run();
  loggedPages(path);
  const before = store.commits;
  await run();
  return { commits: store.commits - before, pages: loggedPages(path) };
}

/** How many pages were written since this was asked before: the log begins anew once all of it has been moved. */
function loggedPages(path: string): number {
  const database = new DatabaseSync(path);
  try {
    const moved = database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
    expect(moved?.log).toBe(moved?.checkpointed);
    return Number(moved?.log);
  } finally {
    database.close();
  }
}

/** The start of a run and its end. */
const ends = 2;

it("commits once for a step, once for a run's start and once for its end", async () => {
  const body: Body = async (context) => {
    for (let n = 0; n < 10; n++) await act(context, `step ${n}`, () => n);
  };
  expect((await costOf(body)).commits).toBe(ends + 10);
});

it("commits once for a step that fails and for a checkpoint, twice for a step whose start is recorded", async () => {
  const failing = (context: Parameters<Body>[0]) => act(context, "bad", () => Promise.reject(new Error("no")));
  expect((await costOf(async (context) => failing(context).catch(() => null))).commits).toBe(ends + 1);
  expect((await costOf((context) => context.checkpoint("here", { n: 1 }))).commits).toBe(ends + 1);
  const begun: Body = (context) =>
    context.step(
      { method: "send", args: null, label: "send" },
      { begin: async () => ({ value: null }), perform: async () => 1 },
    );
  expect((await costOf(begun)).commits).toBe(ends + 2);
});

it("writes few pages with a step", async () => {
  const steps = (count: number) => async (context: Parameters<Body>[0]) => {
    for (let n = 0; n < count; n++) await act(context, `step ${n}`, () => n);
  };
  const [few, many] = [await costOf(steps(10)), await costOf(steps(60))];
  // The step, its name, its event and the event's place among those of the run; now and then a page is full.
  expect((many.pages - few.pages) / 50).toBeLessThan(5);
});

it("takes up all runs that a stop left in one commit", async () => {
  const clock = fakeClock(1_000_000);
  const store = await openSqliteStore({ path: join(await tempDir(), "aegis.db"), clock, log: silentLogger });
  onTestFinished(() => store.close());
  const boot = (mortal: MortalStore) => {
    const engine = new EmbeddedEngine({ store: mortal, clock, log: silentLogger, hooks, exclusive: true });
    engine.define(define("work", (context) => context.receive("go")));
    return engine;
  };
  const before = mortalStore(store);
  const first = boot(before);
  const runs = await Promise.all(Array.from({ length: 50 }, () => first.start({ workflow: "work", args: {} })));
  before.die();
  const commits: number[] = [];
  store.onCommit((events) => {
    const resumed = events.filter((event) => event.type === "run.resumed").length;
    if (resumed > 0) commits.push(resumed);
  });
  const second = boot(mortalStore(store));
  onTestFinished(() => second.stop());
  expect((await second.launch()).map((run) => run.id)).toEqual(runs.map((run) => run.id));
  expect(commits).toEqual([50]);
});
