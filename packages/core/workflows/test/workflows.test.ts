import type { RunId } from "@aegis/contract/ids.ts";
import type { Run } from "@aegis/contract/run.ts";
import { PredicateFailed, WorkflowError } from "@aegis/plugin-api/errors.ts";
import { z } from "@aegis/plugin-api/index.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import type { Engine } from "@aegis/plugin-api/workflow-context.ts";
import {
  completed,
  eventsOfType,
  gated,
  said,
  type TestReply,
  type TestRuntime,
  testDriver,
  testRuntime,
} from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const echo: TestReply = async function* ({ prompt }) {
  yield said(`echo: ${prompt.text.split("\n").slice(1).join("\n")}`);
  yield completed;
};

async function start(reply: TestReply = echo): Promise<TestRuntime> {
  const runtime = await testRuntime(await tempDir(), testDriver(reply));
  await runtime.workflows.launch();
  return runtime;
}

async function ended(runtime: TestRuntime, id: RunId): Promise<Run> {
  await waitUntil(`run ${id} ends`, async () => (await runtime.workflows.runs.find(id)).status !== "running");
  return runtime.workflows.runs.find(id);
}

async function run(runtime: TestRuntime, body: (engine: Engine) => Promise<unknown>): Promise<Run> {
  const undo = runtime.workflows.add(
    workflow("work", {}, async (engine) => body(engine as Engine)),
    "a test",
  );
  const { id } = await runtime.workflows.start({ workflow: "work" });
  const result = await ended(runtime, id);
  undo();
  return result;
}

it("spawns, sends, waits for the whole reply and closes what it started, however it ends", async () => {
  const runtime = await start();
  const good = await run(runtime, async (engine) => {
    const handle = await engine.spawn("offline", { alias: "helper" });
    return engine.send(handle, "hello");
  });
  expect(good).toMatchObject({ status: "ok", result: "echo: hello" });
  const bad = await run(runtime, async (engine) => {
    await engine.spawn("offline");
    throw new WorkflowError("no good");
  });
  expect(bad).toMatchObject({ status: "error", error: { kind: "expected", message: "no good" } });
  await waitUntil("all sessions are closed", async () =>
    (await runtime.store.read.sessions.list()).every((session) => session.closed_at !== null),
  );
  expect(await runtime.store.read.sessions.list()).toHaveLength(2);
  const [message] = await eventsOfType(runtime.store, "message.admitted");
  expect(message?.data.message.sender).toMatchObject({ kind: "workflow", name: "work", status: null });
});

it("tells what the world refuses as an expected failure with the nearest name", async () => {
  const runtime = await start();
  const unknown = await run(runtime, async (engine) => engine.spawn("offlin"));
  expect(unknown.error).toMatchObject({ kind: "expected", message: expect.stringContaining('did you mean "offline"') });
  const nobody = await run(runtime, async (engine) => engine.send("nobody-there", "hi"));
  expect(nobody.error).toMatchObject({
    kind: "expected",
    message: expect.stringContaining('no session "nobody-there"'),
  });
  const queue = await run(runtime, async (engine) => engine.delegate("missing", "x"));
  expect(queue.error).toMatchObject({ kind: "expected", message: expect.stringContaining('no queue "missing"') });
});

it("fails a send whose turn fails, and one that takes too long", async () => {
  const { reply } = gated();
  const runtime = await start(reply);
  const late = await run(runtime, async (engine) => {
    const handle = await engine.spawn("offline");
    return engine.send(handle, "hello", { timeout: 0.05 }).catch((error: Error) => `${error.name}: ${error.message}`);
  });
  expect(late.result).toMatch(/^WorkflowError: .* did not answer in time$/);
});

it("runs commands with their own environment and both outputs, and ends the whole tree in time", async () => {
  const runtime = await start();
  const result = await run(runtime, async (engine) => {
    const both = await engine.bash("echo out; echo err >&2; echo $GREETING; exit 3", { env: { GREETING: "hi" } });
    const late = await engine
      .bash("sleep 60 & sleep 60", { timeout: 0.2 })
      .catch((error: Error) => `${error.name}: ${error.message}`);
    const elsewhere = await engine.bash("true", { cwd: "missing" }).catch((error: Error) => error.message);
    return { both, exit: both.exit, out: both.stdout, late, elsewhere };
  });
  expect(result.result).toMatchObject({
    both: { exit: 3, stdout: "out\nhi\n", stderr: "err\n" },
    exit: 3,
    late: "WorkflowError: bash timed out after 0.2 s: sleep 60 & sleep 60",
    elsewhere: expect.stringContaining("missing"),
  });
  const output = await eventsOfType(runtime.store, "run.output");
  expect(output.map((event) => [event.data.stream, event.data.text])).toContainEqual(["stdout", "out\nhi\n"]);
});

it("tries a predicate once more than its retries, with feedback in between", async () => {
  const runtime = await start();
  const result = await run(runtime, async (engine) => {
    const helper = await engine.spawn("offline");
    return engine
      .bashPredicate("echo tried >> tries; echo no; exit 4", {
        retryWith: "exit {exit}: {stdout}",
        maxRetries: 2,
        to: helper,
      })
      .catch((error: unknown) => [error instanceof PredicateFailed, error instanceof WorkflowError, String(error)]);
  });
  expect(result.result).toEqual([
    true,
    true,
    "PredicateFailed: still failing after 3 tries (exit 4): echo tried >> tries; echo no; exit 4",
  ]);
  const sent = (await eventsOfType(runtime.store, "message.admitted")).map((event) => event.data.message.body);
  expect(sent).toEqual(["exit 4: no\n", "exit 4: no\n"]);
});

it("asks a person without a host, and takes the first answer", async () => {
  const runtime = await start();
  runtime.workflows.add(
    workflow("asker", async (engine) => engine.askHuman("Which?", { options: ["left", "right"] })),
    "a test",
  );
  const { id } = await runtime.workflows.start({ workflow: "asker" });
  await waitUntil("it asks", async () => (await runtime.asks.list({ status: "open", limit: 10 })).length === 1);
  const [ask] = await runtime.asks.list({ status: "open", limit: 10 });
  if (!ask) throw new Error("no ask");
  expect((await runtime.workflows.runs.view(id)).asks).toEqual([ask.id]);
  await expect(runtime.asks.answer(ask.id, { choice: null, text: "up" })).rejects.toThrow("not an answer");
  await runtime.asks.answer(ask.id, { choice: "left", text: "" });
  await expect(runtime.asks.answer(ask.id, { choice: "right", text: "" })).rejects.toThrow("answered already");
  expect((await ended(runtime, id)).result).toBe("left");
});

it("withdraws its question when it is cancelled, and refuses an answer after the time", async () => {
  const runtime = await start();
  runtime.workflows.add(
    workflow("asker", { input: z.object({ seconds: z.number() }) }, async (engine, { seconds }) =>
      engine.askHuman("Well?", { timeout: seconds }),
    ),
    "a test",
  );
  const first = await runtime.workflows.start({ workflow: "asker", args: { seconds: 1000 } });
  await waitUntil("it asks", async () => (await runtime.asks.list({ status: "open", limit: 10 })).length === 1);
  expect(await runtime.workflows.cancel(first.id, "enough")).toMatchObject({ status: "cancelled" });
  await waitUntil(
    "it is withdrawn",
    async () => (await runtime.asks.list({ status: "withdrawn", limit: 10 })).length === 1,
  );
  const second = await runtime.workflows.start({ workflow: "asker", args: { seconds: 0.1 } });
  expect((await ended(runtime, second.id)).error?.message).toBe("no person answered within 0.1 s: Well?");
  const [expired] = await runtime.asks.list({ status: "expired", limit: 10 });
  if (!expired) throw new Error("no ask");
  await expect(runtime.asks.answer(expired.id, { choice: null, text: "late" })).rejects.toThrow("expired already");
});

it("tells its host of the end once, with the result as JSON, and never closes the host", async () => {
  const runtime = await start();
  const { session: host } = await runtime.sessions.create({});
  runtime.workflows.add(
    workflow("work", async (engine) => {
      const refused = await engine.close(engine.host ?? "").catch((error: Error) => error.message);
      return { host: engine.host, caller: engine.callerHandle, refused };
    }),
    "a test",
  );
  const { id } = await runtime.workflows.start({ workflow: "work", host: host.id, callback: true });
  await ended(runtime, id);
  await waitUntil("the host is told", async () => runtime.driver.turns.length === 1);
  const text = runtime.driver.turns[0]?.prompt.text ?? "";
  expect(text).toMatch(new RegExp(`^> from workflow:work · task#${id} · ok · `));
  const refused = `cannot close ${host.handle}: the run works for it`;
  expect(JSON.parse(text.split("\n")[1] ?? "")).toEqual({ host: host.handle, caller: host.handle, refused });
});

it("checks arguments alike from JSON and from text", async () => {
  const runtime = await start();
  const input = z.object({
    count: z.number().int(),
    tags: z.array(z.string()).default([]),
    deep: z.boolean().default(false),
  });
  runtime.workflows.add(
    workflow("typed", { input }, async (_engine, args) => args),
    "a test",
  );
  const ok = await runtime.workflows.start({
    workflow: "typed",
    textArgs: { count: "3", tags: ["a", "b"], deep: "true" },
  });
  expect((await ended(runtime, ok.id)).result).toEqual({ count: 3, tags: ["a", "b"], deep: true });
  for (const request of [{ args: { count: 1.5, tagz: [] } }, { textArgs: { count: "many", tagz: "x" } }]) {
    await expect(runtime.workflows.start({ workflow: "typed", ...request })).rejects.toThrow(
      /count.*unknown argument "tagz" \(did you mean "tags"\?\)/,
    );
  }
  await expect(runtime.workflows.start({ workflow: "tiped" })).rejects.toThrow('did you mean "typed"');
  expect(runtime.workflows.get("typed").parameters).toMatchObject([
    { name: "count", type: "integer", required: true },
    {},
    {},
  ]);
});

it("feeds what was configured to the engine, and refuses a name that is taken", async () => {
  const runtime = await start();
  const one = workflow("one", { config: { a: 1, b: 2 } }, async (engine) => engine.config);
  one.configure({ b: 3 });
  runtime.workflows.add(one, "a test");
  const { id } = await runtime.workflows.start({ workflow: "one" });
  expect((await ended(runtime, id)).result).toEqual({ a: 1, b: 3 });
  expect(() => runtime.workflows.add(one, "another")).toThrow('a workflow "one" exists already, from a test');
});

it("refuses what is no workflow where it is written", () => {
  expect(() => workflow("Bad Name", async (_engine) => 1)).toThrow("not a valid workflow name");
  expect(() => workflow("plain", ((_engine: Engine) => 1) as never)).toThrow("is not async");
  expect(() => workflow("empty", async () => 1)).toThrow("takes no parameter");
  expect(() => workflow("none", {}, undefined as never)).toThrow("has no body");
});

it("ends a workflow that starts itself over and over", async () => {
  const runtime = await start(async function* ({ spec }) {
    const outcome = await spec.host.tools.call(
      "aegis_run_workflow",
      { name: "again" },
      { key: crypto.randomUUID(), signal: AbortSignal.timeout(scaled(5_000)) },
    );
    yield said(outcome.output);
    yield completed;
  });
  runtime.workflows.add(
    workflow("again", async (engine) => {
      const handle = await engine.spawn("offline");
      return engine.send(handle, "start it again");
    }),
    "a test",
  );
  await runtime.workflows.start({ workflow: "again" });
  // Each run belongs to the tree of the session that started the first one, and goes one deeper.
  await waitUntil("it is refused", async () =>
    (await runtime.workflows.runs.list({ limit: 100 })).some((one) => one.error?.message.includes("start no others")),
  );
  expect((await runtime.workflows.runs.list({ limit: 100 })).length).toBeLessThan(15);
});

it("ends a chain of runs that start one another through their commands", async () => {
  const runtime = await start();
  runtime.workflows.add(
    workflow("again", async (engine) => (await engine.bash("echo $AEGIS_RUN", { env: { AEGIS_RUN: "other" } })).stdout),
    "a test",
  );
  const first = await runtime.workflows.start({ workflow: "again" });
  expect((await ended(runtime, first.id)).result).toBe(`${first.id}\n`);
  const startWithin = async (within: RunId, left: number): Promise<never> => {
    if (left === 0) throw new Error("it has no end");
    return startWithin((await runtime.workflows.start({ workflow: "again", within })).id, left - 1);
  };
  await expect(startWithin(first.id, 50)).rejects.toThrow("too long already");
});

it("uses a group, and dissolves it in the end", async () => {
  const runtime = await start();
  const result = await run(runtime, async (engine) => {
    const handles = await engine.spawnGroup("panel", ["offline", "offline"]);
    await engine.broadcast("panel", "what do you think?");
    const { by_member } = await engine.waitAll("panel");
    return { asked: handles.length, replied: Object.keys(by_member).length };
  });
  expect(result.result).toEqual({ asked: 2, replied: 2 });
  await waitUntil("the sessions are closed", async () =>
    (await runtime.store.read.sessions.list()).every((session) => session.closed_at !== null),
  );
});
