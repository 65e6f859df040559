/** Messages that join the turn under way. */
import { describe, expect, it } from "vitest";
import type { Addition } from "../../../src/drivers/driver.ts";
import {
  completed,
  eventsOfType,
  gated,
  said,
  type TestRuntime,
  testDriver,
  testRuntime,
  turnsEnded,
} from "../../helpers/runtime.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitUntil } from "../../helpers/wait-until.ts";

const human = { kind: "human" } as const;

/** A session in the middle of its first turn, with a harness that takes what it is given as `take` says. */
async function inTurn(take: ((message: Addition) => Promise<boolean>) | undefined, dir?: string) {
  const gate = gated();
  const driver = testDriver(gate.reply, { steer: take !== undefined }, take);
  const runtime = await testRuntime(dir ?? (await tempDir()), driver);
  const { session, receipt } = await runtime.sessions.create({ handle: "calm-boole", prompt: "one" });
  await waitUntil("the turn runs", () => driver.turns.length === 1);
  const steer = (body: string) => runtime.inbox.admit({ session: session.id, sender: human, body, steer: true });
  return { gate, driver, runtime, session, first: receipt, steer };
}

const statusOf = async (runtime: TestRuntime, message: string) => (await runtime.inbox.get(message as never)).status;

describe("a message that steers", () => {
  it("joins the turn under way and is done with it", async () => {
    const taken: Addition[] = [];
    const { gate, driver, runtime, session, first, steer } = await inTurn(async (message) => taken.push(message) > 0);
    const receipt = await steer("and two");
    expect(receipt).toMatchObject({ outcome: "steered", text: "joined the turn of calm-boole" });
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

  it("waits for the next turn where the harness cannot, and the receipt says so", async () => {
    const { gate, driver, runtime, steer } = await inTurn(undefined);
    const receipt = await steer("two");
    expect(receipt.outcome).toBe("queued");
    expect(receipt.text).toBe(
      "queued for calm-boole (position 1): its harness takes no message in the middle of a turn",
    );
    gate.open(0);
    gate.open(1);
    await turnsEnded(runtime, 2);
    expect(driver.turns.map((turn) => turn.prompt.text)).toEqual(["one", "two"]);
  });

  it("waits for the next turn when the harness does not take it", async () => {
    const { gate, driver, runtime, steer } = await inTurn(async () => false);
    expect((await steer("two")).text).toContain("its harness did not take it into the turn under way");
    gate.open(0);
    gate.open(1);
    await turnsEnded(runtime, 2);
    expect(driver.turns.map((turn) => turn.prompt.text)).toEqual(["one", "two"]);
  });

  it("lands like any other where no turn is under way", async () => {
    const driver = testDriver(
      async function* ({ prompt }) {
        yield said(prompt.text);
        yield completed;
      },
      { steer: true },
      async () => true,
    );
    const runtime = await testRuntime(await tempDir(), driver);
    const { session } = await runtime.sessions.create({ handle: "calm-boole" });
    const receipt = await runtime.inbox.admit({ session: session.id, sender: human, body: "hi", steer: true });
    expect(receipt).toMatchObject({ outcome: "landed", text: "landed at calm-boole" });
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
    const dir = await tempDir();
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
    const { session } = await first.sessions.create({ handle: "calm-boole", prompt: "one" });
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
    const second = await testRuntime(dir, next);
    await second.recover();
    await second.sessions.wakeAll();
    return { second, next, receipt };
  }

  it("what the harness has on record is not sent again", async () => {
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
