/** What a run waits for is taken back when the run ends or its code changes, whatever its body does at that time. */
import type { Ask } from "@aegis/contract/ask.ts";
import { newId, type RunId } from "@aegis/contract/ids.ts";
import { queueSettingsSchema } from "@aegis/contract/task.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import type { Engine } from "@aegis/plugin-api/workflow-context.ts";
import { cancelled, completed, type TestRuntime, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

type Body = (engine: Engine) => Promise<unknown>;

const both: Body = async (engine) =>
  engine.parallel([() => engine.askHuman("old?"), () => engine.delegate("work", "hold")]);

async function start(): Promise<TestRuntime> {
  const driver = testDriver(async function* ({ signal }) {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    yield cancelled;
    yield completed;
  });
  const runtime = await testRuntime(await memoryDir(), driver);
  await runtime.queues.add("work", queueSettingsSchema.parse({ agent: "offline" }));
  await runtime.queues.start();
  await runtime.workflows.launch();
  return runtime;
}

function define({ workflows }: TestRuntime, body: Body): () => void {
  const { configure: _, order: __, made: ___, ...made } = workflow("work", async (engine) => body(engine as Engine));
  return workflows.add({ ...made, remote: { code: body.toString(), graceMs: 25 } }, "a test");
}

const asksOf = ({ asks }: TestRuntime): Promise<Ask[]> => asks.list({ limit: 10 });
const statusOf = async ({ workflows }: TestRuntime, run: RunId) => (await workflows.runs.find(run)).status;

/** A run of `both` that waits for an answer and for a task. */
async function waiting(runtime: TestRuntime): Promise<{ run: RunId; undo: () => void }> {
  const undo = define(runtime, both);
  const { id: run } = await runtime.workflows.start({ workflow: "work" });
  await waitUntil("it asks", async () => (await asksOf(runtime)).length === 1);
  await waitUntil("its task is at work", async () => runtime.driver.turns.length === 1);
  return { run, undo };
}

async function park(runtime: TestRuntime, run: RunId, body: Body | null): Promise<void> {
  if (body !== null) define(runtime, body);
  await runtime.workflows.restart(run, "its code changed");
  await waitUntil("it is parked", async () => (await statusOf(runtime, run)) === "parked");
}

async function takenBack(runtime: TestRuntime, reason: string): Promise<void> {
  const { queues, sessions, asks } = runtime;
  const [ask] = await asksOf(runtime);
  expect(ask).toMatchObject({ question: "old?", status: "withdrawn", settled_reason: reason });
  const late = asks.answer(ask?.id ?? newId("ask", 1), { choice: null, text: "late" });
  await expect(late).rejects.toMatchObject({ code: "conflict", message: expect.stringContaining(reason) });
  const [task] = await queues.tasks({ queue: "work", limit: 10 });
  expect(task).toMatchObject({ status: "cancelled" });
  await waitUntil("its worker has left", async () => {
    const { state } = await sessions.view(task?.worker ?? newId("ses", 1), "a test");
    return state === "closed";
  });
  expect(runtime.driver.turns[0]?.signal.aborted).toBe(true);
}

it("by cancelling a run that is parked because its workflow is gone", async () => {
  const runtime = await start();
  const { run, undo } = await waiting(runtime);
  undo();
  await park(runtime, run, null);
  // It may go on, so nothing is taken back yet.
  expect(await asksOf(runtime)).toMatchObject([{ status: "open" }]);
  await runtime.workflows.cancel(run, "no longer needed");
  await takenBack(runtime, "the run was cancelled");
});

it("by cancelling a run that executes", async () => {
  const runtime = await start();
  const { run } = await waiting(runtime);
  await runtime.workflows.cancel(run, "no longer needed");
  await takenBack(runtime, "the run was cancelled");
});

it("by resuming a run by force, whose changed code asks for something else; cancelling it takes back the rest", async () => {
  const runtime = await start();
  const { run, undo } = await waiting(runtime);
  undo();
  await park(runtime, run, async (engine) => engine.askHuman("new?"));
  const parked = await runtime.workflows.runs.find(run);
  expect(parked.parked).toMatchObject({
    reason: "diverged",
    recorded: '"ask: old?" in branch 0.0.0',
    asked: '"ask: new?"',
  });
  expect(parked.parked?.detail).toContain("which has started, but it asked for");
  expect(await asksOf(runtime)).toMatchObject([{ status: "open" }]);
  await runtime.workflows.resume(run, { force: true });
  await waitUntil("it asks anew", async () => (await asksOf(runtime)).length === 2);
  await takenBack(runtime, "its code no longer requests it");
  await runtime.workflows.cancel(run, "no longer needed");
  expect((await asksOf(runtime))[1]).toMatchObject({ question: "new?", status: "withdrawn" });
});

it("and asks and delegates anew, when the code that was resumed by force comes to request the same", async () => {
  const runtime = await start();
  const twice: Body = async (engine) => {
    await engine.step("first", () => 1);
    return both(engine);
  };
  const undo = define(runtime, twice);
  const { id: run } = await runtime.workflows.start({ workflow: "work" });
  await waitUntil("it asks", async () => (await asksOf(runtime)).length === 1);
  await waitUntil("its task is at work", async () => runtime.driver.turns.length === 1);
  undo();
  await park(runtime, run, async (engine) => {
    await engine.step("other", () => 1);
    return both(engine);
  });
  await runtime.workflows.resume(run, { force: true });
  await waitUntil("it asks anew", async () => (await asksOf(runtime)).length === 2);
  expect(await asksOf(runtime)).toMatchObject([
    { question: "old?", status: "withdrawn" },
    { question: "old?", status: "open" },
  ]);
  await waitUntil(
    "it delegates anew",
    async () => (await runtime.queues.tasks({ queue: "work", limit: 10 })).length === 2,
  );
  const statuses = (await runtime.queues.tasks({ queue: "work", limit: 10 })).map(({ status }) => status);
  expect(statuses.filter((status) => status === "cancelled")).toHaveLength(1);
  const [, ask] = await asksOf(runtime);
  await runtime.asks.answer(ask?.id ?? newId("ask", 1), { choice: null, text: "yes" });
  await waitUntil("the answer is recorded", async () =>
    (await runtime.store.read.steps.list(run)).some(({ method, status }) => method === "askHuman" && status === "ok"),
  );
});

it("not when changed code still waits for the same", async () => {
  const runtime = await start();
  const { run, undo } = await waiting(runtime);
  undo();
  define(runtime, async (engine) => {
    engine.log("a new line");
    return both(engine);
  });
  await runtime.workflows.restart(run, "its code changed");
  const [ask] = await asksOf(runtime);
  await runtime.asks.answer(ask?.id ?? newId("ask", 1), { choice: null, text: "yes" });
  await waitUntil("the answer is recorded", async () =>
    (await runtime.store.read.steps.list(run)).some(({ method, status }) => method === "askHuman" && status === "ok"),
  );
  expect(await asksOf(runtime)).toHaveLength(1);
  expect(await statusOf(runtime, run)).toBe("running");
});
