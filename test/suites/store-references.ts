/** Every id that a row or an event names exists from the commit on that names it, whatever part of Aegis writes it. */
import { newId } from "@aegis/contract/ids.ts";
import { queueSettingsSchema } from "@aegis/contract/task.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import type { Engine } from "@aegis/plugin-api/workflow-context.ts";
import type { Store } from "@aegis/store/store.ts";
import { describe, expect, it } from "vitest";
import { checkReferences } from "../helpers/references.ts";
import { message, sessionRow, task } from "../helpers/rows.ts";
import { completed, said, type TestRuntime, testDriver, testRuntime } from "../helpers/runtime.ts";
import { memoryDir } from "../helpers/temp-dir.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const brief = { objective: "look", output_format: "text", tool_guidance: "none", boundaries: "none" };

export function referenceStoreSuite(current: () => Store): void {
  const onRuntime = async (test: (runtime: TestRuntime) => Promise<void>) => {
    let fails = 1;
    const driver = testDriver(async function* ({ prompt }) {
      if (prompt.text.endsWith("fail once") && fails-- > 0) {
        yield { type: "turn.ended", reason: "failed", error: { code: "model", message: "no" }, usage: null };
        return;
      }
      yield said("done");
      yield completed;
    });
    const runtime = await testRuntime(await memoryDir(), driver, { store: current() });
    const settings = queueSettingsSchema.parse({ agent: "offline", retries: 1 });
    await runtime.queues.add("work", settings);
    await runtime.queues.start();
    await runtime.workflows.launch();
    try {
      await test(runtime);
    } finally {
      // The suite closes the store at once after the test.
      await runtime.stop();
    }
  };

  describe("references", () => {
    it("a transaction that names what does not exist is found by the check of these tests", async () => {
      const store = checkReferences(current());
      const session = sessionRow();
      const alone = store.transact((tx) => tx.tasks.insert(task({ producer: session.id })));
      await expect(alone).rejects.toThrow(`tasks.insert names ${session.id}`);
      await store.transact(async (tx) => {
        await tx.sessions.insert(session);
        await tx.messages.insert(
          message(session.id, { body: `ses_${"0".repeat(26)} is only text`, chain: newId("msg", 1) }),
        );
        await tx.tasks.insert(task({ producer: session.id }));
      });
    });

    it("a dispatched task names a worker that exists, also when it is tried again", () =>
      onRuntime(async ({ queues, sessions, store }) => {
        const producer = (await sessions.create({})).session.id;
        const { task: first } = await queues.enqueue({ queue: "work", payload: "fail once", producer, callback: true });
        expect(await store.read.sessions.get(first.worker ?? producer)).toMatchObject({ id: first.worker });
        await waitUntil("it was tried again", async () => (await queues.task(first.id)).task.status === "completed");
        const { attempts } = await queues.task(first.id);
        expect(attempts).toHaveLength(2);
        for (const { worker } of attempts) expect(await store.read.sessions.get(worker)).not.toBeNull();
      }));

    it("what a workflow starts and asks for exists", () =>
      onRuntime(async ({ workflows, asks }) => {
        const steps = async (engine: Engine) => {
          await engine.send(await engine.spawn("offline"), "hello");
          await engine.delegate("work", "do it");
          await engine.spawnGroup("scouts", ["offline", "offline"]);
          await engine.broadcast("scouts", brief);
          await engine.waitAll("scouts");
          return engine.askHuman("and now?");
        };
        workflows.add(
          workflow("all", {}, async (engine) => steps(engine as Engine)),
          "a test",
        );
        const { id } = await workflows.start({ workflow: "all" });
        const open = async () => (await asks.list({ status: "open", limit: 1 }))[0];
        await waitUntil("it asks", async () => (await open()) !== undefined);
        const ask = await open();
        if (ask !== undefined) await asks.answer(ask.id, { choice: null, text: "go" });
        await waitUntil("it ends", async () => (await workflows.runs.find(id)).status === "ok");
      }));
  });
}
