/** A harness that ends while it is idle, just as it is sent the next message. */

import type { DriverEvent } from "@aegis/drivers/driver.ts";
import { completed, eventsOfType, said, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";

const died: DriverEvent = {
  type: "turn.ended",
  reason: "failed",
  error: { code: "died", message: "it ended" },
  usage: null,
};

/** A session with one good turn behind it, whose next turns end as `endings` say. */
async function after(...endings: DriverEvent[][]) {
  const scripts = [[said("good"), completed], ...endings];
  const driver = testDriver(async function* () {
    const script = scripts.shift() ?? [];
    if (script.includes(died)) driver.alive = false;
    yield* script;
  });
  const runtime = await testRuntime(await memoryDir(), driver);
  const { session } = await runtime.sessions.create({ prompt: "one" });
  await turnsEnded(runtime, 1);
  await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "two" });
  await turnsEnded(runtime, 2);
  const end = (await eventsOfType(runtime.store, "turn.ended")).at(-1)?.data;
  return { driver, runtime, session, end };
}

it("a prompt that it never took is sent again in the same turn, to a new process", async () => {
  const { driver, runtime, end } = await after([died], [said("here again"), completed]);
  expect(end).toMatchObject({ reason: "completed", text: "here again" });
  expect(driver.turns.map((turn) => turn.prompt.text)).toEqual(["one", "two", "two"]);
  expect(driver.opened).toBe(2);
  expect(await eventsOfType(runtime.store, "turn.started")).toHaveLength(2);
  const [notice] = await eventsOfType(runtime.store, "turn.notice");
  expect(notice?.data.text).toContain("restarted");
});

it("it is sent again once, not for ever", async () => {
  const { driver, end } = await after([died], [died]);
  expect(end).toMatchObject({ reason: "failed", error: { code: "died" } });
  expect(driver.turns).toHaveLength(3);
});

it("a prompt that it had begun to answer is not sent again", async () => {
  const accepted = await after([{ type: "accepted" }, died]);
  expect(accepted.end).toMatchObject({ reason: "failed", error: { code: "died" } });
  expect(accepted.driver.turns).toHaveLength(2);
  const answering = await after([said("I was ab"), died]);
  expect(answering.driver.turns).toHaveLength(2);
});

it("a process that dies on its first prompt is not started twice for it", async () => {
  const driver = testDriver(async function* () {
    driver.alive = false;
    yield died;
  });
  const runtime = await testRuntime(await memoryDir(), driver);
  await runtime.sessions.create({ prompt: "one" });
  await turnsEnded(runtime, 1);
  expect(driver.turns).toHaveLength(1);
});
