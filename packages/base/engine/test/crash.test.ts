// @module-tag slow
/** Stops the engine after every commit, with a clock that stands still, and compares with a run that was never stopped. */
import { join } from "node:path";
import { setImmediate as nextRound } from "node:timers/promises";
import { newId } from "@aegis/contract/ids.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { type FakeClock, fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { act, type Body, define } from "@aegis/test/suites/engine-suite.ts";
import { expect, it, onTestFinished } from "vitest";
import { EmbeddedEngine } from "../src/embedded/engine.ts";
import type { Engine } from "../src/engine.ts";
import { type MortalStore, mortalStore } from "./mortal-store.ts";

const hooks = { onGivenUp: async () => {}, onEnd: async () => "none" as const, afterEnd: async () => {} };
const day = 86_400_000;

const bodies: Record<string, Body> = {
  "nested branches, one of which fails": async (context) => {
    const good = await context.parallel(
      [1, 2].map((n) => async () => {
        const inner = await context.parallel([1, 2].map((m) => () => act(context, "same", () => n * m)));
        return act(context, `sum ${inner.join()}`, () => inner[0]);
      }),
    );
    const failed = await context
      .parallel([
        async () => {
          await act(context, "before", () => 1);
          return act(context, "bad", () => Promise.reject(new Error("no")));
        },
        async () => {
          await context.sleep(3 * day);
          return act(context, "never", () => 1);
        },
      ])
      .catch((error: Error) => error.message);
    context.log(`failed with ${failed}`);
    return [good, failed, await act(context, "after", () => "on")];
  },
  "sleep and signals": async (context) => {
    const started = await act(context, "started", () => 1);
    const told = await Promise.all([context.receive("go"), context.sleep(2 * day)]);
    context.log("woke");
    const silence = await context.receive("nothing", { timeoutMs: day });
    return [started, told[0], silence];
  },
  "checkpoints that a body skips, with a helper it starts anew": async (context) => {
    const done = ((await context.resumeState()) as number[] | null) ?? [];
    const helper = await act(context, "helper", () => "h");
    for (let i = done.length; i < 3; i++) {
      done.push(await act(context, `slice ${i} by ${helper}`, () => i));
      await context.checkpoint(`slice ${i}`, done);
    }
    context.log("all");
    return done;
  },
  "a race whose winner matters": async (context) => {
    const slow = context.sleep(5 * day).then(() => "slow");
    const winner = await Promise.race([act(context, "fast", () => "fast"), slow]);
    const after = await act(context, `then ${winner}`, () => winner);
    await slow;
    return [winner, after, await act(context, "last", () => 1)];
  },
};

async function live(body: Body, lives: number): Promise<{ commits: number; seen: unknown }> {
  const dir = await memoryDir();
  const clock = fakeClock(1_000_000);
  const sqlite = await openSqliteStore({ path: join(dir, "aegis.db"), clock, log: silentLogger });
  onTestFinished(() => sqlite.close());
  const id = newId("run", 1);
  const boot = (left: number) => {
    const store = mortalStore(sqlite, left);
    const engine = new EmbeddedEngine({ store, clock, log: silentLogger, hooks, exclusive: true, leaseMs: 100 * day });
    engine.define(define("work", body));
    return { store, engine };
  };
  const first = boot(lives);
  void begin(first.engine, id);
  await Promise.race([first.store.died, ended(first, id, clock, () => first.store.commits >= lives)]);
  const last = lives === Number.POSITIVE_INFINITY ? first : boot(Number.POSITIVE_INFINITY);
  if (last !== first) {
    first.store.die();
    await begin(last.engine, id);
  }
  const run = await ended(last, id, clock, () => false);
  last.store.die();
  const lines = await sqlite.read.events.list({ types: ["run.log", "run.checkpoint"], limit: 1000 });
  const steps = (await sqlite.read.steps.list(id)).filter((step) => step.status !== "begun");
  return {
    commits: first.store.commits,
    seen: {
      status: run?.status,
      result: run?.result,
      lines: lines.map((event) => ("text" in event.data ? event.data.text : "name" in event.data && event.data.name)),
      steps: new Set(steps.map((step) => `${step.scope} ${step.label} ${step.status}`)),
    },
  };
}

async function begin(engine: Engine, id: ReturnType<typeof newId<"run">>): Promise<void> {
  await engine.launch();
  await engine.start({ id, workflow: "work", args: {} });
  await engine.signal(id, "go", "now", "once");
}

/** Lets days pass until the run has ended, but none while it is at work: that takes no time. */
async function ended(
  { engine, store }: { engine: Engine; store: MortalStore },
  id: ReturnType<typeof newId<"run">>,
  clock: FakeClock,
  dead: () => boolean,
) {
  while (!dead()) {
    await quiet(store);
    const run = await engine.get(id);
    if (run && run.status !== "running") return run;
    await clock.advance(day);
  }
  return null;
}

/** Returns once nothing was written for some rounds of the event loop: all there is to do waits for the clock. */
async function quiet(store: MortalStore): Promise<void> {
  let commits = store.commits;
  for (let rounds = 0; rounds < 20; rounds++) {
    await nextRound();
    if (store.commits === commits) continue;
    commits = store.commits;
    rounds = 0;
  }
}

it.each(Object.keys(bodies))("survives a stop after every commit: %s", { timeout: scaled(120_000) }, async (name) => {
  const body = bodies[name];
  if (!body) throw new Error("unreachable");
  const whole = await live(body, Number.POSITIVE_INFINITY);
  expect(whole.seen).toMatchObject({ status: "ok" });
  for (let lives = 1; lives < whole.commits; lives++) {
    const cut = await live(body, lives);
    expect(cut.seen, `after a stop at commit ${lives} of ${whole.commits}`).toEqual(whole.seen);
  }
});

it("never performs what a branch asked for before another one failed", async () => {
  let late = 0;
  const body: Body = async (context) => {
    let failed = false;
    await context
      .parallel([
        async () => {
          await act(context, "first", () => 1);
          await act(context, "bad", () => Promise.reject(new Error("no")));
        },
        async () => {
          await act(context, "first", () => 1);
          await context.step(
            { method: "send", args: null, label: "send" },
            {
              async begin() {
                if (failed) late += 1;
                return { value: null };
              },
              perform: ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(null))),
            },
          );
        },
      ])
      .catch(() => {
        failed = true;
      });
    return act(context, "after", () => "on");
  };
  const whole = await live(body, Number.POSITIVE_INFINITY);
  for (let lives = 1; lives < whole.commits; lives++) {
    expect((await live(body, lives)).seen, `after a stop at commit ${lives}`).toMatchObject({
      status: "ok",
      result: "on",
    });
  }
  expect(late).toBe(0);
});
