// @module-tag slow
/** A database that is lost again and again delays a run. It does not fail it, and nothing happens twice. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "@aegis/lib/log.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import type { Engine } from "@aegis/plugin-api/workflow-context.ts";
import { patientStore } from "@aegis/store/patient.ts";
import type { Store } from "@aegis/store/store.ts";
import { StoreAwayError } from "@aegis/store/transact.ts";
import { completed, eventsOfType, said, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { type Shaking, type ShakyStore, shakyStore } from "@aegis/test/helpers/shaky-store.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

/** Each primitive that reads or writes beside the transactions of its step. */
async function body(engine: Engine): Promise<unknown> {
  const helper = await engine.spawn("offline");
  const reply = await engine.send(helper, "one");
  await engine.drain(helper);
  await engine.spawnGroup("pair", ["offline", "offline"]);
  await engine.broadcast("pair", {
    objective: "count",
    output_format: "text",
    tool_guidance: "none",
    boundaries: "none",
  });
  const { by_member } = await engine.waitAll("pair", { timeout: 600 });
  const task = await engine.enqueue("line", "later");
  const done = await engine.delegate("line", "now");
  const choice = await engine.askHuman("Go on?", { options: ["yes", "no"] });
  const { exit } = await engine.bash("echo x >> effects");
  await engine.close(helper);
  return { reply, replies: Object.keys(by_member).length, hasTask: task !== "", done, choice, exit };
}

const lost: { how: string; shaking: Shaking; wrap: (store: Store) => Store }[] = [
  { how: "every second transaction", shaking: { units: 2 }, wrap: (store) => patientStore(store, silentLogger) },
  { how: "every second transaction, with no patience of the store", shaking: { units: 2 }, wrap: (store) => store },
  { how: "every twentieth read", shaking: { units: 0, reads: 20 }, wrap: (store) => store },
];

it.each(lost)("finishes a run that loses $how", { timeout: scaled(120_000) }, async ({ shaking, wrap }) => {
  const dir = await memoryDir();
  await writeFile(
    join(dir, ".aegis.yaml"),
    "agents:\n  offline: { harness: scripted }\nqueues:\n  line: { agent: offline }\n",
  );
  const driver = testDriver(async function* ({ prompt }) {
    yield said(`heard ${prompt.text.split("\n").at(-1)}`);
    yield completed;
  });
  let sqlite: Store | undefined;
  let shaky: ShakyStore | undefined;
  const runtime = await testRuntime(dir, driver, {
    wrap: (store) => {
      sqlite = store;
      shaky = shakyStore(store, shaking);
      return wrap(shaky);
    },
  });
  const answer = async (id: Parameters<typeof runtime.asks.answer>[0]): Promise<void> => {
    await runtime.asks.answer(id, { choice: "yes", text: "" }).catch((error: unknown) => {
      // As a person's client does.
      if (error instanceof StoreAwayError) return answer(id);
    });
  };
  runtime.store.onCommit((events) => {
    for (const event of events) if (event.type === "ask.opened") void answer(event.data.ask.id);
  });
  runtime.workflows.add(workflow("shaken", body), "a test");
  await runtime.queues.start();
  await runtime.workflows.launch();
  const { id } = await runtime.workflows.start({ workflow: "shaken" });
  await waitUntil("the run ends", async () => (await sqlite?.read.runs.get(id))?.status !== "running", 30_000);
  shaky?.steady();
  const run = await runtime.workflows.runs.find(id);
  expect(shaky?.lost.units === 0 && shaky?.lost.reads === 0).toBe(false);
  expect(run.error).toBeNull();
  expect(run.result).toEqual({
    reply: "heard one",
    replies: 2,
    hasTask: true,
    done: "heard now",
    choice: "yes",
    exit: 0,
  });
  expect(await readFile(join(dir, "effects"), "utf8")).toBe("x\n");
  const admitted = (await eventsOfType(runtime.store, "message.admitted")).map(({ data }) => data.message.id);
  expect(new Set(admitted).size).toBe(admitted.length);
  const ended = (await eventsOfType(runtime.store, "turn.ended")).map(({ data }) => data.reason);
  expect(ended.filter((reason) => reason !== "completed")).toEqual([]);
  expect((await eventsOfType(runtime.store, "task.enqueued")).length).toBe(2);
});
