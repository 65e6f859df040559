import { AegisError } from "@aegis/contract/errors.ts";
import type { HookContexts } from "@aegis/contract/hook.ts";
import { newId } from "@aegis/contract/ids.ts";
import { hook, testPlugin } from "@aegis/test/helpers/hooks.ts";
import { eventsOfType, gated, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it, vi } from "vitest";
import { ask, gather, team } from "../../delegation/test/groups/team.ts";
import { forest } from "../../delegation/test/subagents/forest.ts";
import { answer, human, start } from "./stage.ts";

describe("message_received", () => {
  const shout = hook("message_received", ({ content }) => content.toUpperCase());

  it("changes a message before an agent gets it, from any sender, and keeps the text as it was sent", async () => {
    const seen: HookContexts["message_received"][] = [];
    const { runtime, driver } = await start([
      hook("message_received", (context) => void seen.push(context)),
      { ...shout, name: "s" },
    ]);
    const session = await answer(runtime, "hello");
    const from = { kind: "workflow", name: "w", run: "run_1", status: null } as const;
    await runtime.inbox.admit({ session: session.id, sender: from, body: "more" });
    await turnsEnded(runtime, 2);
    const messages = await runtime.inbox.list(session.id, { limit: 10 });
    expect(messages.map(({ body, sent }) => [body, sent])).toEqual([
      ["HELLO", "hello"],
      ["MORE", "more"],
    ]);
    expect(driver.turns.map(({ prompt }) => prompt.text)).toEqual(["HELLO", expect.stringMatching(/\nMORE$/)]);
    expect(seen).toMatchObject([
      { content: "hello", sender: human, session: { id: session.id, handle: session.handle } },
      { content: "more", sender: from },
    ]);
    const received = await eventsOfType(runtime.store, "message.received");
    expect(received.map(({ data }) => data.body)).toEqual(["HELLO", "MORE"]);
  });

  it("sees a message once, however often it is sent", async () => {
    const call = vi.fn(({ content }: { content: string }) => `${content} (seen)`);
    const { runtime } = await start([hook("message_received", call)]);
    const { session } = await runtime.sessions.create({});
    const id = newId("msg", 1);
    const send = (body: string) => runtime.inbox.admit({ id, session: session.id, sender: human, body });
    expect((await send("same")).duplicate).toBe(false);
    expect((await send("same")).duplicate).toBe(true);
    await turnsEnded(runtime, 1);
    expect((await send("same")).duplicate).toBe(true);
    await expect(send("other")).rejects.toThrow(/used before for another message/);
    expect(call).toHaveBeenCalledOnce();
    expect(await runtime.inbox.get(id)).toMatchObject({ body: "same (seen)", sent: "same" });
  });

  it("sees no notice of Aegis itself, and cannot make a message invalid", async () => {
    const call = vi.fn(() => "a\0b");
    const { runtime } = await start([hook("message_received", call)]);
    const { session } = await runtime.sessions.create({});
    await runtime.inbox.admit({ session: session.id, sender: { kind: "substrate" }, body: "notice" });
    await turnsEnded(runtime, 1);
    expect(call).not.toHaveBeenCalled();
    await runtime.inbox.admit({ session: session.id, sender: human, body: "text" });
    await turnsEnded(runtime, 2);
    expect(call).toHaveBeenCalledOnce();
    expect((await runtime.inbox.list(session.id, { limit: 10 })).map(({ body }) => body)).toEqual(["notice", "text"]);
  });

  it("lets an agent say the same thing twice only after the first was read", async () => {
    const gate = gated();
    const { runtime } = await start([shout], gate.reply);
    const { session: from } = await runtime.sessions.create({});
    const { session: to } = await runtime.sessions.create({});
    const sender = { kind: "agent", session: from.id, handle: from.handle } as const;
    const send = (body: string) => runtime.inbox.admit({ session: to.id, sender, body });
    await send("first");
    await waitUntil("a turn has it", async () => (await eventsOfType(runtime.store, "turn.started")).length === 1);
    expect((await send("again")).duplicate).toBe(false);
    expect((await send("again")).duplicate).toBe(true);
  });

  it("leaves a message that arrives while hooks run to the next turn", async () => {
    const held = Promise.withResolvers<void>();
    const first = vi.fn(async ({ content }: { content: string }) => {
      if (content === "one") await held.promise;
      return content.toUpperCase();
    });
    const { runtime, driver } = await start([hook("message_received", first)]);
    const { session } = await runtime.sessions.create({ prompt: "one" });
    await waitUntil("the hook runs", () => first.mock.calls.length === 1);
    await runtime.inbox.admit({ session: session.id, sender: human, body: "two" });
    held.resolve();
    await turnsEnded(runtime, 2);
    expect(driver.turns.map(({ prompt }) => prompt.text)).toEqual(["ONE", "TWO"]);
  });

  it("runs again after a crash only when its result was not stored", async () => {
    const call = vi.fn(() => "changed");
    let isBroken = true;
    const { runtime } = await start([hook("message_received", call)], undefined, (store) => ({
      ...store,
      read: store.read,
      onCommit: (...listener) => store.onCommit(...listener),
      transact: (unit) =>
        store.transact(async (tx) => {
          const value = await unit(tx);
          if (isBroken && call.mock.calls.length === 1) throw new AegisError("internal", "killed");
          return value;
        }),
    }));
    const { session } = await runtime.sessions.create({ prompt: "text" });
    await waitUntil("the hook was called", () => call.mock.calls.length === 1);
    isBroken = false;
    runtime.sessions.wake(session.id);
    await turnsEnded(runtime, 1);
    const [message] = await runtime.inbox.list(session.id, { limit: 10 });
    expect(message).toMatchObject({ body: "changed", sent: "text" });
  });

  it("sees a message that joins a running turn", async () => {
    const joined: string[] = [];
    const gate = gated();
    const driver = testDriver(gate.reply, { steer: true }, async ({ text }) => joined.push(text) > 0);
    const runtime = await testRuntime(await tempDir(), driver);
    runtime.hooks.table.add(testPlugin("loud", [shout]));
    const { session } = await runtime.sessions.create({ prompt: "one" });
    await waitUntil("its turn runs", () => driver.turns.length === 1);
    await runtime.inbox.admit({ session: session.id, sender: human, body: "two", steer: true });
    expect(joined).toEqual(["TWO"]);
    gate.open(0);
    await turnsEnded(runtime, 1);
    expect(driver.turns.map(({ prompt }) => prompt.text)).toEqual(["ONE"]);
  });
});

describe("what is made together with its message", () => {
  const watching = () => {
    const seen: HookContexts["message_received"][] = [];
    return { seen, plugin: testPlugin("spy", [hook("message_received", (context) => void seen.push(context))]) };
  };

  it("is the broadcast that hooks were shown, once for each member", async () => {
    const { seen, plugin } = watching();
    const runtime = await team();
    await gather(runtime, "scouts", 2);
    runtime.hooks.table.add(plugin);
    const { id, members } = await ask(runtime, "scouts");
    const sender = { kind: "group", group: "scouts", broadcast: id };
    await waitUntil("each member's turn begins", () => seen.length === members.length);
    expect(new Map(seen.map((one) => [one.session.id, one.sender]))).toEqual(
      new Map(members.map(({ session }) => [session, sender])),
    );
  });

  it("is the pooled agent that hooks were shown", async () => {
    const { seen, plugin } = watching();
    const f = await forest();
    const root = await f.root();
    f.runtime.hooks.table.add(plugin);
    const call = f.call(root, "agent", { agent_name: "offline", task_prompt: "look" });
    await waitUntil("a pooled agent has it", async () => (await f.runtime.store.read.pool.list()).length === 1);
    const [pooled] = await f.runtime.store.read.pool.list();
    if (pooled === undefined) throw new Error("unreachable: the wait ends with one");
    await f.say(pooled.session, "done");
    expect((await call).output).toContain("done");
    const row = await f.runtime.store.read.sessions.get(pooled.session);
    expect(seen).toMatchObject([{ session: { id: pooled.session, handle: row?.handle } }]);
  });
});
