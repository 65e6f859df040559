/** Messages that join the turn in progress. */
import { copyFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Addition, Holding } from "@aegis/drivers/driver.ts";
import {
  completed,
  eventsOfType,
  gated,
  said,
  type TestRuntime,
  testDriver,
  testRuntime,
  turnsEnded,
} from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

const human = { kind: "human" } as const;

/** A session in the middle of its first turn, with a harness that takes what it is given as `take` says. */
async function inTurn(take: ((message: Addition) => Promise<boolean>) | undefined, dir?: string) {
  const gate = gated();
  const driver = testDriver(gate.reply, { steer: take !== undefined }, take);
  const runtime = await testRuntime(dir ?? (await memoryDir()), driver);
  const { session, receipt } = await runtime.sessions.create({ handle: "calm-moore", prompt: "one" });
  await waitUntil("the turn runs", () => driver.turns.length === 1);
  const steer = (body: string) => runtime.inbox.admit({ session: session.id, sender: human, body, steer: true });
  return { gate, driver, runtime, session, first: receipt, steer };
}

const statusOf = async (runtime: TestRuntime, message: string) => (await runtime.inbox.get(message as never)).status;

describe("a message that steers", () => {
  it("joins the turn in progress and is done with it", async () => {
    const taken: Addition[] = [];
    const { gate, driver, runtime, session, first, steer } = await inTurn(async (message) => taken.push(message) > 0);
    const receipt = await steer("and two");
    expect(receipt).toMatchObject({ outcome: "steered", text: "joined the turn of calm-moore" });
    expect(taken.map((message) => message.text)).toEqual(["and two"]);
    expect(runtime.turns.current(session.id).map((message) => message.body)).toEqual(["one", "and two"]);
    gate.open(0);
    await turnsEnded(runtime, 1);
    expect(driver.turns).toHaveLength(1);
    const [one, two] = [await runtime.inbox.get(first?.message as never), await runtime.inbox.get(receipt.message)];
    expect(two).toMatchObject({ status: "done", turn: one.turn });
    expect(await eventsOfType(runtime.store, "message.steered")).toMatchObject([
      { data: { message: receipt.message, turn: one.turn } },
    ]);
  });

  it("has a header when the turn has another sender, and none among messages of the person alone", async () => {
    const taken: Addition[] = [];
    const { gate, runtime, session, steer } = await inTurn(async (message) => taken.push(message) > 0);
    await steer("alone");
    const peer = { kind: "agent", session: session.id, handle: "keen-planck" } as const;
    await runtime.inbox.admit({ session: session.id, sender: peer, body: "from a peer", steer: true });
    await steer("mixed");
    expect(taken.map((message) => message.text)).toEqual([
      "alone",
      expect.stringMatching(/^> from agent:keen-planck · \S+\nfrom a peer$/),
      expect.stringMatching(/^> from user · \S+\nmixed$/),
    ]);
    gate.open(0);
    await turnsEnded(runtime, 1);
  });

  it("waits for the next turn where the harness cannot, and the receipt says so", async () => {
    const { gate, driver, runtime, steer } = await inTurn(undefined);
    const receipt = await steer("two");
    expect(receipt.outcome).toBe("queued");
    expect(receipt.text).toBe(
      "queued for calm-moore (position 1): its harness accepts no message in the middle of a turn",
    );
    gate.open(0);
    gate.open(1);
    await turnsEnded(runtime, 2);
    expect(driver.turns.map((turn) => turn.prompt.text)).toEqual(["one", "two"]);
  });

  it("waits for the next turn when the harness does not take it", async () => {
    const { gate, driver, runtime, steer } = await inTurn(async () => false);
    expect((await steer("two")).text).toContain("its harness did not accept it into the running turn");
    gate.open(0);
    gate.open(1);
    await turnsEnded(runtime, 2);
    expect(driver.turns.map((turn) => turn.prompt.text)).toEqual(["one", "two"]);
  });

  it("lands like any other where no turn is in progress", async () => {
    const driver = testDriver(
      async function* ({ prompt }) {
        yield said(prompt.text);
        yield completed;
      },
      { steer: true },
      async () => true,
    );
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session } = await runtime.sessions.create({ handle: "calm-moore" });
    const receipt = await runtime.inbox.admit({ session: session.id, sender: human, body: "hi", steer: true });
    expect(receipt).toMatchObject({ outcome: "landed", text: "landed at calm-moore" });
    await turnsEnded(runtime, 1);
    expect(driver.turns.map((turn) => turn.prompt.text)).toEqual(["hi"]);
  });

  it("is not taken by the next turn while the harness still thinks about it", async () => {
    const thinking = Promise.withResolvers<boolean>();
    const { gate, driver, runtime, steer } = await inTurn(() => thinking.promise);
    const sent = steer("two");
    await waitUntil("it is admitted", async () => (await eventsOfType(runtime.store, "message.admitted")).length === 2);
    gate.open(0);
    thinking.resolve(true);
    const receipt = await sent;
    await turnsEnded(runtime, 1);
    expect(await statusOf(runtime, receipt.message)).toBe("done");
    expect(driver.turns).toHaveLength(1);
  });
});

describe("after a stop in the middle of a turn that a message had joined", () => {
  async function cut(accepted: boolean) {
    const dir = await memoryDir();
    const driver = testDriver(
      async function* ({ signal }) {
        if (accepted) yield { type: "accepted" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        yield completed;
      },
      { steer: true },
      async () => true,
    );
    const first = await testRuntime(dir, driver);
    const { session } = await first.sessions.create({ handle: "calm-moore", prompt: "one" });
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    if (accepted) {
      await waitUntil("it is accepted", async () => (await eventsOfType(first.store, "turn.accepted")).length === 1);
    }
    const receipt = await first.inbox.admit({ session: session.id, sender: human, body: "two", steer: true });
    expect(receipt.outcome).toBe("steered");
    await first.stop();
    const next = testDriver(async function* ({ prompt }) {
      yield said(prompt.text);
      yield completed;
    });
    if (accepted) next.restored = { conversation: true, holds: async () => "yes" };
    const second = await testRuntime(dir, next);
    await second.recover();
    await second.sessions.wakeAll();
    return { second, next, receipt };
  }

  it("a message that the harness has recorded is not sent again", async () => {
    const { second, next, receipt } = await cut(true);
    await turnsEnded(second, 2);
    expect(next.turns).toHaveLength(1);
    expect(next.turns[0]?.prompt.text).toContain("Your last turn was cut");
    expect(await statusOf(second, receipt.message)).toBe("done");
  });

  it("what it never saw is sent again once, the joined one after the batch it had joined", async () => {
    const { second, next, receipt } = await cut(false);
    await turnsEnded(second, 3);
    expect(next.turns.map((turn) => turn.prompt.text)).toEqual(["one", "two"]);
    expect(await statusOf(second, receipt.message)).toBe("done");
  });
});

describe("a stop while the harness is being given a message for the turn in progress", () => {
  /** `holds` is what the next harness's record has of it; null for a harness that begins anew. */
  async function cutWhileOffered(holds: (key: string) => Holding | null) {
    const dir = await memoryDir();
    const offered = Promise.withResolvers<Addition>();
    const first = testDriver(
      async function* ({ signal }) {
        yield { type: "accepted" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        yield completed;
      },
      { steer: true },
      async (message) => {
        offered.resolve(message);
        return new Promise<boolean>(() => {});
      },
    );
    const before = await testRuntime(dir, first, { isDead: () => true });
    const { session } = await before.sessions.create({ handle: "calm-moore", prompt: "one" });
    await waitUntil("it is accepted", async () => (await eventsOfType(before.store, "turn.accepted")).length === 1);
    const sent = before.inbox.admit({ session: session.id, sender: human, body: "two", steer: true });
    const { key } = await offered.promise;
    // What a kill at this instant would leave on disk.
    const copy = await memoryDir();
    for (const name of await readdir(dir))
      if (name.startsWith("aegis.db")) await copyFile(join(dir, name), join(copy, name));
    const next = testDriver(async function* ({ prompt }) {
      yield said(prompt.text);
      yield completed;
    });
    const verdict = holds(key);
    next.restored =
      verdict === null
        ? { conversation: false, holds: async () => "no" }
        : {
            conversation: true,
            holds: async ({ prompts }) => (prompts.some((one) => one.key === key) ? verdict : "yes"),
          };
    const after = await testRuntime(copy, next);
    await after.recover();
    await after.sessions.wakeAll();
    sent.catch(() => {});
    return { after, next, session };
  }

  const bodies = (runtime: TestRuntime, session: SessionId) => runtime.inbox.list(session, { limit: 10 });

  it("is not repeated where the harness's record has it", async () => {
    const { after, next, session } = await cutWhileOffered(() => "yes");
    await turnsEnded(after, 2);
    expect(next.turns.map(({ prompt }) => prompt.text)).toEqual([expect.stringContaining("Your last turn was cut")]);
    expect(await bodies(after, session.id)).toMatchObject([{ status: "done" }, { status: "done" }]);
  });

  it.each([
    ["cannot be read", "unknown", "cannot tell whether you received it"],
    ["does not have it", "no", "has no record of it"],
  ] as const)("is sent once more and marked where the record %s", async (_, holding, words) => {
    const { after, next, session } = await cutWhileOffered(() => holding);
    await turnsEnded(after, 3);
    const [notice, again] = next.turns.map(({ prompt }) => prompt.text);
    expect(notice).toContain("Your last turn was cut");
    expect(notice).not.toContain("two");
    expect(again).toContain(words);
    expect(again).toMatch(/two$/);
    expect(await bodies(after, session.id)).toMatchObject([{ status: "done" }, { status: "done" }]);
  });

  it("is sent once more and marked, after the batch it was to join, where the conversation is gone", async () => {
    const { after, next, session } = await cutWhileOffered(() => null);
    await turnsEnded(after, 3);
    const texts = next.turns.map(({ prompt }) => prompt.text);
    expect(texts).toEqual([
      expect.stringMatching(/no record of it[\s\S]*one$/),
      expect.stringMatching(/no record of it[\s\S]*two$/),
    ]);
    expect(await bodies(after, session.id)).toMatchObject([{ status: "done" }, { status: "done" }]);
  });
});
