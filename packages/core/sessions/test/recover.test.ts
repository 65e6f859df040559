import type { SessionId } from "@aegis/contract/ids.ts";
import type { Capabilities, DriverEvent, Holding } from "@aegis/drivers/driver.ts";
import {
  completed,
  eventsOfType,
  said,
  type TestDriver,
  type TestRuntime,
  testDriver,
  testRuntime,
  turnsEnded,
} from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

const human = { kind: "human" } as const;

/** Says `before`, then never ends by itself. */
function stuck(before: DriverEvent[], able: Partial<Capabilities> = {}): TestDriver {
  return testDriver(async function* ({ signal }) {
    yield* before;
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    yield completed;
  }, able);
}

/** Answers. It says of its own record what `holds` says, or that it began anew. */
function answering(holds: Holding | "anew" = "no"): TestDriver {
  const driver = testDriver(async function* ({ prompt }) {
    yield said(`answer to: ${prompt.text}`);
    yield completed;
  });
  driver.restored =
    holds === "anew"
      ? { conversation: false, holds: async () => "no" }
      : { conversation: true, holds: async () => holds };
  return driver;
}

const batch = /> from user · \S+\none\n\n> from agent:keen-planck · \S+\ntwo$/;

/** A session whose turn over two messages is cut, with a third message waiting. */
async function cutInTheMiddle(dir: string, driver: TestDriver): Promise<SessionId> {
  const first = await testRuntime(dir, driver);
  const { session } = await first.sessions.create({ handle: "calm-moore" });
  const peer = await first.sessions.create({ handle: "keen-planck" });
  const sender = { kind: "agent", session: peer.session.id, handle: "keen-planck" } as const;
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

/** A conversation that never opens. A stop may come before the driver is asked to open it, so its rejection is handled here. */
function neverOpened(): PromiseWithResolvers<never> {
  const opening = Promise.withResolvers<never>();
  opening.promise.catch(() => undefined);
  return opening;
}

async function restart(dir: string, driver: TestDriver): Promise<TestRuntime> {
  const second = await testRuntime(dir, driver);
  await second.recover();
  await second.sessions.wakeAll();
  return second;
}

describe("after a stop in the middle of a turn", () => {
  it("messages that the harness never recorded are sent again, as the batch they were", async () => {
    const dir = await memoryDir();
    const before = stuck([said("half an ans")]);
    const session = await cutInTheMiddle(dir, before);
    const driver = answering();
    const runtime = await restart(dir, driver);
    await turnsEnded(runtime, 3);
    const ends = await eventsOfType(runtime.store, "turn.ended");
    expect(ends.map((event) => event.data.reason)).toEqual(["lost", "completed", "completed"]);
    expect(driver.turns[0]?.prompt.text).toMatch(/^> from user · \S+\none\n\n> from agent:keen-planck · \S+\ntwo$/);
    expect(driver.turns[1]?.prompt.text).toBe("three");
    expect(driver.turns[0]?.prompt.key).toBe(before.turns[0]?.prompt.key);
    expect(driver.turns[0]?.prompt.turn).not.toBe(before.turns[0]?.prompt.turn);
    expect(await runtime.inbox.list(session, { limit: 10 })).toEqual(
      ["one", "two", "three"].map((body) => expect.objectContaining({ body, status: "done" })),
    );
  });

  it.each([
    { accepted: true, holds: "yes" },
    { accepted: true, holds: "unknown" },
    { accepted: false, holds: "yes" },
  ] as const)("messages that the harness has are not repeated: it is told that it was cut (%o)", async (had) => {
    const dir = await memoryDir();
    const before = stuck([...(had.accepted ? [{ type: "accepted" } as const] : []), said("half")]);
    const session = await cutInTheMiddle(dir, before);
    const driver = answering(had.holds);
    const runtime = await restart(dir, driver);
    await turnsEnded(runtime, 3);
    const prompts = driver.turns.map((turn) => turn.prompt.text);
    expect(prompts).toEqual([expect.stringMatching(/^> from substrate · \S+\nYour last turn was cut/), "three"]);
    expect(prompts[0]).not.toMatch(batch);
    // What it does now is not what it did before.
    expect(driver.turns[0]?.prompt.key).not.toBe(before.turns[0]?.prompt.key);
    // A caller that waits for the answer finds it in the turn that continues.
    const [one, two] = await runtime.inbox.list(session, { limit: 10 });
    const [, turn] = await eventsOfType(runtime.store, "turn.started");
    expect([one, two]).toMatchObject([{ turn: turn?.data.turn }, { turn: turn?.data.turn }]);
    expect(await eventsOfType(runtime.store, "message.redelivered")).toEqual([]);
  });

  it.each([
    { accepted: true, holds: "anew", words: "this conversation has no record of it" },
    { accepted: false, holds: "anew", words: "this conversation has no record of it" },
    { accepted: true, holds: "no", words: "this conversation has no record of it" },
    { accepted: false, holds: "unknown", words: "cannot tell whether you received it" },
  ] as const)("messages that it may not have are sent again and marked (%o)", async ({ accepted, holds, words }) => {
    const dir = await memoryDir();
    const before = stuck([...(accepted ? [{ type: "accepted" } as const] : []), said("half")]);
    const session = await cutInTheMiddle(dir, before);
    const driver = answering(holds);
    const runtime = await restart(dir, driver);
    await turnsEnded(runtime, 3);
    const [first, second] = driver.turns.map((turn) => turn.prompt);
    expect(first?.text).toMatch(/^> from substrate · /);
    expect(first?.text).toContain(words);
    expect(first?.text).toMatch(batch);
    expect(first?.key).toBe(before.turns[0]?.prompt.key);
    expect(second?.text).toBe("three");
    expect(await eventsOfType(runtime.store, "message.redelivered")).toHaveLength(2);
    expect(await runtime.inbox.list(session, { limit: 10 })).toEqual(
      ["one", "two", "three"].map((body) => expect.objectContaining({ body, status: "done" })),
    );
  });

  it("a stop before the repeated prompt was handed over does not forget that it is a repetition", async () => {
    const dir = await memoryDir();
    await cutInTheMiddle(dir, stuck([{ type: "accepted" }, said("half")]));
    const unopened = answering();
    const opening = neverOpened();
    unopened.open = () => opening.promise;
    const middle = await restart(dir, unopened);
    await waitUntil("it begins", async () => (await eventsOfType(middle.store, "turn.started")).length === 2);
    await middle.turns.abandon();
    opening.reject(new Error("the test is over"));
    await middle.stop();
    const driver = answering("yes");
    const runtime = await restart(dir, driver);
    await turnsEnded(runtime, 4);
    expect(driver.turns[0]?.prompt.text).toContain("Your last turn was cut");
  });

  it("what went to a conversation that is gone counts as unknown to the one that took its place", async () => {
    const dir = await memoryDir();
    await cutInTheMiddle(dir, stuck([{ type: "accepted" }, said("half")]));
    const renamed = answering("anew");
    const opening = neverOpened();
    renamed.open = async ({ host }) => {
      await host.remember("another conversation");
      return opening.promise;
    };
    const middle = await restart(dir, renamed);
    await waitUntil("it is opened", async () =>
      (await middle.store.read.sessions.list()).some(({ resume }) => resume !== null),
    );
    await middle.turns.abandon();
    opening.reject(new Error("the test is over"));
    await middle.stop();
    const driver = answering("unknown");
    const runtime = await restart(dir, driver);
    await turnsEnded(runtime, 4);
    expect(driver.turns[0]?.prompt.text).toContain("this conversation has no record of it");
    expect(driver.turns[0]?.prompt.text).toMatch(batch);
  });

  it("a second stop before the answer changes nothing", async () => {
    const dir = await memoryDir();
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
    const dir = await memoryDir();
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
    const dir = await memoryDir();
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
