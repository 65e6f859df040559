import { AegisError } from "@aegis/contract/errors.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Store } from "@aegis/store/store.ts";
import {
  completed,
  eventsOfType,
  gated,
  said,
  testDriver,
  testRuntime,
  turnsEnded,
} from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

const human = { kind: "human" } as const;

describe("a batch of messages", () => {
  it("waits for the turn in progress and then makes exactly one turn, in order", async () => {
    const gate = gated();
    const driver = testDriver(gate.reply);
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session, receipt } = await runtime.sessions.create({ prompt: "one" });
    expect(receipt?.text).toBe(`landed at ${session.handle}`);
    await waitUntil("the first turn runs", () => driver.turns.length === 1);
    const peer = { kind: "agent", session: session.id, handle: "calm-moore" } as const;
    const second = await runtime.inbox.admit({ session: session.id, sender: human, body: "two" });
    const third = await runtime.inbox.admit({ session: session.id, sender: peer, body: "three" });
    expect([second.text, third.text]).toEqual([
      `queued for ${session.handle} (position 1)`,
      `queued for ${session.handle} (position 2)`,
    ]);
    gate.open(0);
    gate.open(1);
    await turnsEnded(runtime, 2);
    expect(driver.turns.map((turn) => turn.prompt.text)).toEqual([
      "one",
      expect.stringMatching(
        /^> from user · \S+\ntwo\n\n> from agent:calm-moore · \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\nthree$/,
      ),
    ]);
    expect(driver.opened).toBe(1);
    expect((await runtime.sessions.view(session.id, "me")).state).toBe("ready");
  });

  it("is admitted once however often it is sent", async () => {
    const driver = testDriver(gated().reply);
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session } = await runtime.sessions.create({});
    const id = newId("msg", 1);
    const send = (body: string) => runtime.inbox.admit({ id, session: session.id, sender: human, body });
    const receipts = await Promise.all([send("same"), send("same"), send("same")]);
    expect(receipts.filter((receipt) => !receipt.duplicate)).toHaveLength(1);
    await expect(send("different")).rejects.toThrow(/used before for another message/);
    expect(await eventsOfType(runtime.store, "message.admitted")).toHaveLength(1);
  });

  it("can be taken back before its turn, not after", async () => {
    const gate = gated();
    const driver = testDriver(gate.reply);
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session, receipt } = await runtime.sessions.create({ prompt: "one" });
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    const waiting = await runtime.inbox.admit({ session: session.id, sender: human, body: "two" });
    expect((await runtime.inbox.cancel(waiting.message)).status).toBe("cancelled");
    await expect(runtime.inbox.cancel(receipt?.message as never)).rejects.toThrow(/can no longer be taken back/);
    gate.open(0);
    await turnsEnded(runtime, 1);
    expect(driver.turns).toHaveLength(1);
  });
});

describe("an interrupt", () => {
  it("cuts the turn; what waits becomes the next one", async () => {
    const gate = gated();
    const driver = testDriver(gate.reply);
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session } = await runtime.sessions.create({ prompt: "one" });
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    await runtime.inbox.admit({ session: session.id, sender: human, body: "two" });
    gate.open(1);
    expect(await runtime.sessions.interrupt(session.id)).toBe(true);
    await turnsEnded(runtime, 2);
    const ends = await eventsOfType(runtime.store, "turn.ended");
    expect(ends.map((event) => event.data.reason)).toEqual(["cancelled", "completed"]);
    expect(await runtime.sessions.interrupt(session.id)).toBe(false);
  });

  it("asked for by a message lands it at once", async () => {
    const gate = gated();
    const driver = testDriver(gate.reply);
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session } = await runtime.sessions.create({ prompt: "one" });
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    gate.open(1);
    const receipt = await runtime.inbox.admit({ session: session.id, sender: human, body: "now", interrupt: true });
    expect(receipt.text).toBe(`interrupted & landed at ${session.handle}`);
    await turnsEnded(runtime, 2);
    expect(driver.turns[1]?.prompt.text).toBe("now");
  });
});

describe("a turn that breaks", () => {
  it("ends as failed and the next message starts afresh", async () => {
    let broken = true;
    const driver = testDriver(async function* () {
      if (broken) throw new Error("the driver has a bug");
      yield said("fine again");
      yield completed;
    });
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session } = await runtime.sessions.create({ prompt: "one" });
    await turnsEnded(runtime, 1);
    await waitUntil("it shows", async () => (await runtime.sessions.view(session.id, "me")).state === "error");
    expect((await runtime.sessions.view(session.id, "me")).error).toBe("the driver has a bug");
    broken = false;
    driver.alive = false;
    await runtime.inbox.admit({ session: session.id, sender: human, body: "two" });
    await turnsEnded(runtime, 2);
    expect((await runtime.sessions.view(session.id, "me")).state).toBe("ready");
    expect(driver.opened).toBe(2);
    expect(driver.closed).toBe(1);
  });

  it("ends as failed when the driver forgets to end it", async () => {
    const driver = testDriver(async function* () {
      yield said("and then nothing");
    });
    const runtime = await testRuntime(await memoryDir(), driver);
    await runtime.sessions.create({ prompt: "one" });
    await turnsEnded(runtime, 1);
    const [end] = await eventsOfType(runtime.store, "turn.ended");
    expect(end?.data).toMatchObject({ reason: "failed", error: { code: "protocol" }, text: "and then nothing" });
  });

  it("waits for a full disk instead of losing its end", async () => {
    let full = false;
    const gate = gated();
    const driver = testDriver(gate.reply);
    const wrap = (store: Store): Store => ({
      ...store,
      read: store.read,
      transact: (unit) =>
        full ? Promise.reject(new AegisError("storage_full", "no space left")) : store.transact(unit),
      onCommit: (...listener) => store.onCommit(...listener),
      health: () => store.health(),
      close: () => store.close(),
    });
    const runtime = await testRuntime(await memoryDir(), driver, { wrap });
    const { session } = await runtime.sessions.create({ prompt: "one" });
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    full = true;
    gate.open(0);
    await expect(runtime.inbox.admit({ session: session.id, sender: human, body: "two" })).rejects.toThrow(/no space/);
    full = false;
    await turnsEnded(runtime, 1);
    const [end] = await eventsOfType(runtime.store, "turn.ended");
    expect(end?.data).toMatchObject({ reason: "completed", text: "answer to: one" });
  });
});

describe("the last message of a turn", () => {
  it("is the whole of what was said under one message id", async () => {
    const driver = testDriver(async function* () {
      yield said("first", "a");
      yield said("second, part one", "b");
      yield said("part two", "b");
      yield completed;
    });
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session } = await runtime.sessions.create({ prompt: "go" });
    await turnsEnded(runtime, 1);
    const [turn] = await runtime.sessions.turns(session.id, 1);
    expect(turn?.text).toBe("second, part one\n\npart two");
  });
});

describe("a turn the harness starts by itself", () => {
  it("is recorded between the others, never beside them", async () => {
    const driver = testDriver(async function* ({ spec }) {
      yield said("started something in the background");
      spec.host.spontaneousTurn(
        (async function* () {
          yield said("it is done", "s1");
          yield completed;
        })(),
      );
      yield completed;
    });
    const runtime = await testRuntime(await memoryDir(), driver);
    const { session } = await runtime.sessions.create({ prompt: "go" });
    await turnsEnded(runtime, 2);
    const started = await eventsOfType(runtime.store, "turn.started");
    expect(started.map((event) => event.data.spontaneous)).toEqual([false, true]);
    const events = await runtime.store.read.events.list({ session: session.id as SessionId, limit: 100 });
    const order = events.map((event) => event.type).filter((type) => type === "turn.started" || type === "turn.ended");
    expect(order).toEqual(["turn.started", "turn.ended", "turn.started", "turn.ended"]);
  });
});
