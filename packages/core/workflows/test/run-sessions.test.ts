/** Whose the sessions of a run are: shown with it, counted for it, closed with it and not before. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newId, type RunId } from "@aegis/contract/ids.ts";
import type { Run } from "@aegis/contract/run.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import type { Engine } from "@aegis/plugin-api/workflow-context.ts";
import { gated, said, type TestReply, type TestRuntime, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, cost: 0.5 };

const paid: TestReply = async function* ({ prompt }) {
  yield said(`echo: ${prompt.text.split("\n").at(-1)}`);
  yield { type: "turn.ended", reason: "completed", error: null, usage };
};

async function start(reply: TestReply = paid, config = ""): Promise<TestRuntime> {
  const dir = await tempDir();
  if (config !== "") await writeFile(join(dir, ".aegis.yaml"), config);
  const runtime = await testRuntime(dir, testDriver(reply));
  await runtime.queues.start();
  await runtime.workflows.launch();
  return runtime;
}

async function ended(runtime: TestRuntime, id: RunId): Promise<Run> {
  await waitUntil(`run ${id} ends`, async () => (await runtime.workflows.runs.find(id)).status !== "running");
  return runtime.workflows.runs.find(id);
}

/** Registers another body under the same name. */
function replacer(runtime: TestRuntime): (body: (engine: Engine) => Promise<unknown>) => void {
  let undo = () => {};
  return (body) => {
    undo();
    undo = runtime.workflows.add(
      workflow("work", async (engine) => body(engine)),
      "a test",
    );
  };
}

function allClosed(runtime: TestRuntime): Promise<void> {
  return waitUntil("all sessions are closed", async () =>
    (await runtime.store.read.sessions.list()).every((session) => session.closed_at !== null),
  );
}

it("counts members of its groups and workers of its tasks among its agents, and what they cost", async () => {
  const runtime = await start(paid, "agents:\n  offline: { harness: scripted }\nqueues:\n  line: { agent: offline }\n");
  replacer(runtime)(async (engine) => {
    await engine.spawnGroup("panel", ["offline", "offline"]);
    await engine.broadcast("panel", "well?");
    await engine.waitAll("panel");
    return engine.delegate("line", "do it");
  });
  const { id } = await runtime.workflows.start({ workflow: "work" });
  expect(await ended(runtime, id)).toMatchObject({ status: "ok", result: "echo: do it" });
  const { agents, cost } = await runtime.workflows.runs.view(id);
  expect(agents).toHaveLength(3);
  expect(cost).toBe(1.5);
});

it("works with groups of its own: members of another run's are not asked", async () => {
  const runtime = await start();
  replacer(runtime)(async (engine) => {
    await engine.spawnGroup("panel", ["offline"]);
    await engine.spawnGroup("panel", ["offline"]);
    await engine.broadcast("panel", "well?");
    const { by_member } = await engine.waitAll("panel");
    await engine.askHuman("Go on?");
    return Object.keys(by_member).length;
  });
  const first = await runtime.workflows.start({ workflow: "work" });
  await waitUntil("it asks", async () => (await runtime.asks.list({ status: "open", limit: 10 })).length === 1);
  const second = await runtime.workflows.start({ workflow: "work" });
  expect((await ended(runtime, second.id)).error).toMatchObject({
    kind: "expected",
    message: expect.stringContaining('a group "panel" exists already'),
  });
  const [ask] = await runtime.asks.list({ status: "open", limit: 10 });
  await runtime.asks.answer(ask?.id ?? newId("ask", 1), { choice: null, text: "yes" });
  expect(await ended(runtime, first.id)).toMatchObject({ status: "ok", result: 2 });
  await allClosed(runtime);
  const third = await runtime.workflows.start({ workflow: "work" });
  await waitUntil("it asks", async () => (await runtime.asks.list({ status: "open", limit: 10 })).length === 1);
  await runtime.workflows.cancel(third.id, "enough");
});

it("waits for a group as long as the project says", async () => {
  const runtime = await start(gated().reply, "groups:\n  defaults: { timeout: 0.1 }\n");
  replacer(runtime)(async (engine) => {
    await engine.spawnGroup("panel", ["offline"]);
    await engine.broadcast("panel", "well?");
    return (await engine.waitAll("panel")).timeouts.length;
  });
  const { id } = await runtime.workflows.start({ workflow: "work" });
  expect(await ended(runtime, id)).toMatchObject({ status: "ok", result: 1 });
  await allClosed(runtime);
});

it("leaves a session to the fork that works with it when the run it came from is given up", async () => {
  const runtime = await start();
  const become = replacer(runtime);
  become(async (engine) => {
    await engine.spawn("offline", { handle: "calm-helper" });
    await engine.checkpoint("ready", null);
    await engine.askHuman("Go on?");
  });
  const { id } = await runtime.workflows.start({ workflow: "work" });
  await waitUntil("it asks", async () => (await runtime.asks.list({ status: "open", limit: 10 })).length === 1);
  const fork = await runtime.workflows.fork(id, {});
  await waitUntil("both ask", async () => (await runtime.asks.list({ status: "open", limit: 10 })).length === 2);
  await runtime.workflows.cancel(id, "the fork goes on");
  const helper = () => runtime.store.read.sessions.byHandle("calm-helper");
  expect((await helper())?.closed_at).toBeNull();
  await runtime.workflows.cancel(fork.id, "enough");
  await allClosed(runtime);
});

it("closes a session in the end although the step that started it was set aside", async () => {
  const runtime = await start();
  const become = replacer(runtime);
  become(async (engine) => {
    await engine.spawn("offline");
    await engine.spawnGroup("panel", ["offline", "offline"]);
    await engine.askHuman("Go on?");
  });
  const { id } = await runtime.workflows.start({ workflow: "work" });
  await waitUntil("it asks", async () => (await runtime.asks.list({ status: "open", limit: 10 })).length === 1);
  become(async (engine) => engine.step("changed", () => "changed"));
  await runtime.workflows.restart(id, "its code has changed");
  await waitUntil("it is parked", async () => (await runtime.workflows.runs.find(id)).status === "parked");
  await runtime.workflows.resume(id, { force: true });
  expect(await ended(runtime, id)).toMatchObject({ status: "ok", result: "changed" });
  await allClosed(runtime);
  await waitUntil("the group is dissolved", async () => (await runtime.groups.list()).length === 0);
});

it("drains what it started, not whom it works for", async () => {
  const { reply, open } = gated();
  const runtime = await start(reply);
  const { session: host } = await runtime.sessions.create({});
  const sender = { kind: "human" as const };
  await runtime.inbox.admit({ session: host.id, sender, body: "something that takes long" });
  runtime.sessions.wake(host.id);
  await waitUntil("the host works", async () => runtime.driver.turns.length === 1);
  replacer(runtime)(async (engine) => {
    await engine.spawn("offline");
    await engine.drain();
    return "drained";
  });
  const { id } = await runtime.workflows.start({ workflow: "work", host: host.id });
  expect(await ended(runtime, id)).toMatchObject({ status: "ok", result: "drained" });
  open(0);
});
