import { describe, expect, it } from "vitest";
import type { SessionId } from "../../../src/contract/ids.ts";
import type { Capabilities, DriverEvent } from "../../../src/drivers/driver.ts";
import {
  completed,
  eventsOfType,
  said,
  type TestDriver,
  type TestRuntime,
  testDriver,
  testRuntime,
  turnsEnded,
} from "../../helpers/runtime.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitUntil } from "../../helpers/wait-until.ts";

const human = { kind: "human" } as const;

/** Says `before`, then never ends by itself. */
function stuck(before: DriverEvent[], able: Partial<Capabilities> = {}): TestDriver {
  return testDriver(async function* ({ signal }) {
    yield* before;
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    yield completed;
  }, able);
}

function answering(able: Partial<Capabilities> = {}): TestDriver {
  return testDriver(async function* ({ prompt }) {
    yield said(`answer to: ${prompt.text}`);
    yield completed;
  }, able);
}

/** A session whose turn over two messages is cut, with a third message waiting. */
async function cutInTheMiddle(dir: string, driver: TestDriver): Promise<SessionId> {
  const first = await testRuntime(dir, driver);
  const { session } = await first.sessions.create({ handle: "calm-boole" });
  const peer = await first.sessions.create({ handle: "keen-hopper" });
  const sender = { kind: "agent", session: peer.session.id, handle: "keen-hopper" } as const;
  await first.store.transact(async (tx) => {
    await first.inbox.admitIn(tx, { session: session.id, sender: human, body: "one" });
    await first.inbox.admitIn(tx, { session: session.id, sender, body: "two" });
  });
  first.sessions.wake(session.id);
  await waitUntil("the turn runs", () => driver.turns.length === 1);
  await waitUntil("it said what it had to say", async () => {
    const events = await first.store.read.events.list({ session: session.id, limit: 100 });
    return driver.capabilities.permissions === false || events.some((event) => event.type === "turn.text");
  });
  await first.inbox.admit({ session: session.id, sender: human, body: "three" });
  await first.stop();
  return session.id;
}

async function restart(dir: string, driver: TestDriver): Promise<TestRuntime> {
  const second = await testRuntime(dir, driver);
  await second.recover();
  await second.sessions.wakeAll();
  return second;
}

describe("after a stop in the middle of a turn", () => {
  it("messages that the harness never recorded are sent again, as the batch they were", async () => {
    const dir = await tempDir();
    const before = stuck([said("half an ans")]);
    const session = await cutInTheMiddle(dir, before);
    const driver = answering();
    const runtime = await restart(dir, driver);
    await turnsEnded(runtime, 3);
    const ends = await eventsOfType(runtime.store, "turn.ended");
    expect(ends.map((event) => event.data.reason)).toEqual(["lost", "completed", "completed"]);
    expect(driver.turns[0]?.prompt.text).toMatch(/^one\n\n> from agent:keen-hopper · \S+\ntwo$/);
    expect(driver.turns[1]?.prompt.text).toBe("three");
    expect(driver.turns[0]?.prompt.key).toBe(before.turns[0]?.prompt.key);
    expect(driver.turns[0]?.prompt.turn).not.toBe(before.turns[0]?.prompt.turn);
    expect(await runtime.inbox.list(session, { limit: 10 })).toEqual(
      ["one", "two", "three"].map((body) => expect.objectContaining({ body, status: "done" })),
    );
  });

  it("messages that the harness has are not repeated: it is told that it was cut", async () => {
    const dir = await tempDir();
    await cutInTheMiddle(dir, stuck([{ type: "accepted" }, said("half")]));
    const driver = answering();
    const runtime = await restart(dir, driver);
    await turnsEnded(runtime, 2);
    const [turn] = driver.turns;
    expect(driver.turns).toHaveLength(1);
    expect(turn?.prompt.text).toMatch(/^three\n\n> from substrate · \S+\nYour last turn was cut/);
  });

  it("messages of a harness that cannot resume are reported, to their senders too", async () => {
    const dir = await tempDir();
    await cutInTheMiddle(dir, stuck([{ type: "accepted" }, said("half")], { resume: false }));
    const driver = answering({ resume: false });
    const runtime = await restart(dir, driver);
    await turnsEnded(runtime, 3);
    expect(await eventsOfType(runtime.store, "message.lost")).toHaveLength(2);
    const prompts = driver.turns.map((turn) => turn.prompt.text);
    expect(prompts).toContainEqual("three");
    expect(prompts).toContainEqual(expect.stringMatching(/^> from substrate · \S+\nYour message msg_\S+ was lost/));
  });

  it("a second stop before the answer changes nothing", async () => {
    const dir = await tempDir();
    const before = stuck([said("half")]);
    await cutInTheMiddle(dir, before);
    const again = stuck([said("half again")]);
    const middle = await restart(dir, again);
    await waitUntil("it runs again", () => again.turns.length === 1);
    await middle.stop();
    const driver = answering();
    const runtime = await restart(dir, driver);
    await turnsEnded(runtime, 4);
    expect(driver.turns.map((turn) => turn.prompt.text)).toEqual([before.turns[0]?.prompt.text, "three"]);
    expect(new Set([before, again, driver].map((one) => one.turns[0]?.prompt.key)).size).toBe(1);
  });

  it("gives a driver back what it stored to remember", async () => {
    const dir = await tempDir();
    const first = await testRuntime(
      dir,
      testDriver(async function* ({ spec }) {
        yield { type: "memory", value: { said: "hello" } };
        await spec.host.remember("vendor-1");
        yield completed;
      }),
    );
    const { session } = await first.sessions.create({ prompt: "hello" });
    await turnsEnded(first, 1);
    await first.stop();
    const driver = answering();
    const runtime = await restart(dir, driver);
    await runtime.inbox.admit({ session: session.id, sender: human, body: "again" });
    await turnsEnded(runtime, 2);
    expect(driver.turns[0]?.spec).toMatchObject({ resume: "vendor-1", memory: [{ said: "hello" }] });
  });

  it("a closed session stays closed", async () => {
    const dir = await tempDir();
    const driver = stuck([said("half")]);
    const first = await testRuntime(dir, driver);
    const { session } = await first.sessions.create({ prompt: "one" });
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    await first.store.transact((tx) => tx.sessions.update(session.id, { state: "closed", closed_at: 1 }));
    await first.stop();
    const after = answering();
    const runtime = await restart(dir, after);
    expect((await runtime.sessions.view(session.id, "me")).state).toBe("closed");
    expect((await eventsOfType(runtime.store, "turn.ended")).map((event) => event.data.reason)).toEqual(["lost"]);
    expect(after.turns).toHaveLength(0);
  });
});
