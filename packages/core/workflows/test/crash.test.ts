// @module-tag slow
/** Stops a run after every single commit and takes it up again: nothing is lost, nothing is done twice. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newId, type RunId } from "@aegis/contract/ids.ts";
import { type Workflow, workflow } from "@aegis/plugin-api/workflow.ts";
import type { Engine } from "@aegis/plugin-api/workflow-context.ts";
import type { Store } from "@aegis/store/store.ts";
import { completed, said, type TestReply } from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { boot, live } from "./mortal-runtime.ts";

/** Everything that makes a run tricky: nested branches, agents, a question, a pause, a check that fails at first. */
const tricky = (skips: boolean): Workflow =>
  workflow("tricky", async (engine) => {
    const passed = skips ? await engine.resumeState<{ stage: number; joined: string[] }>() : null;
    const joined = passed?.joined ?? (await branches(engine));
    if ((passed?.stage ?? 0) < 1) await engine.checkpoint("joined", { stage: 1, joined });
    if ((passed?.stage ?? 0) < 2) {
      const choice = await engine.askHuman("Go on?", { options: ["yes", "no"] });
      await engine.sleep(0.005);
      await engine.checkpoint(`chose ${choice}`, { stage: 2, joined });
    }
    const helper = await engine.spawn("offline");
    await engine.bashPredicate("echo x >> effects; test -f fixed", { retryWith: "repair it ({exit})", to: helper });
    engine.log("checked");
    return joined;
  });

async function branches(engine: Engine): Promise<string[]> {
  engine.log("begins");
  return engine.parallel([
    async () => {
      const handle = await engine.spawn("offline");
      const first = await engine.send(handle, "one");
      return engine.send(handle, `two after ${first}`);
    },
    async () => (await engine.parallel([1, 2].map((n) => () => engine.step("inner", async () => String(n))))).join("+"),
  ]);
}

const repairs = (dir: string): TestReply =>
  async function* ({ prompt }) {
    if (prompt.text.includes("repair it")) await writeFile(join(dir, "fixed"), "");
    yield said(`heard ${prompt.text.split("\n").at(-1)}`);
    yield completed;
  };

async function liveTricky(skips: boolean, lives: number) {
  const dir = await memoryDir();
  const request = { id: newId("run", 1), workflow: "tricky" };
  return live({
    dir,
    request,
    lives,
    async boot(sqlite, most) {
      const alive = await boot(dir, sqlite, most, repairs(dir));
      alive.runtime.workflows.add(tricky(skips), "a test");
      return alive;
    },
    look: async (sqlite) => ({ run: await effectsOf(sqlite, request.id), shell: await shellRuns(dir) }),
  });
}

async function effectsOf({ read }: Store, id: RunId): Promise<unknown> {
  const run = await read.runs.get(id);
  const sessions = await read.sessions.list();
  const messages = (await Promise.all(sessions.map((session) => read.messages.list(session.id)))).flat();
  const lines = await read.events.list({ types: ["run.log", "run.checkpoint"], limit: 1000 });
  const steps = (await read.steps.list(id)).map((step) => `${step.method} ${step.status} ${step.scope}`);
  return {
    status: run?.status,
    result: run?.result,
    sessions: sessions.length,
    messages: messages.map((message) => `${message.body}: ${message.status}`).sort(),
    asks: (await read.asks.list({ limit: 10 })).map((ask) => `${ask.question} ${ask.status}`),
    lines: lines.map((event) =>
      event.type === "run.log" ? event.data.text : event.type === "run.checkpoint" ? event.data.name : "",
    ),
    steps: steps.sort(),
  };
}

async function shellRuns(dir: string): Promise<number> {
  return (await readFile(join(dir, "effects"), "utf8")).trim().split("\n").length;
}

it.each([
  { how: "is replayed from its beginning", skips: false },
  { how: "goes back to its checkpoints", skips: true },
])("survives a stop after every commit of a run that $how", { timeout: scaled(240_000) }, async ({ skips }) => {
  const whole = await liveTricky(skips, Number.POSITIVE_INFINITY);
  expect(whole.effects.run).toMatchObject({
    status: "ok",
    result: ["heard two after heard one", "1+2"],
    sessions: 3,
    messages: ["one: done", "repair it (1): done", "two after heard one: done"],
    asks: ["Go on? answered"],
    lines: ["begins", "joined", "chose yes", "checked"],
  });
  expect(whole.effects.shell).toBe(2);
  for (let lives = 1; lives < whole.commits; lives++) {
    const cut = await liveTricky(skips, lives);
    expect(cut.effects.run, `after a stop at commit ${lives} of ${whole.commits}`).toEqual(whole.effects.run);
    // A command that was in progress is the one thing that may happen again.
    expect([2, 3], `after a stop at commit ${lives}`).toContain(cut.effects.shell);
  }
});
