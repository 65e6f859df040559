import { describe, expect, it, vi } from "vitest";
import type { HookContexts } from "../../../src/contract/hook.ts";
import { newId } from "../../../src/contract/ids.ts";
import { hook, testPlugin } from "../../helpers/hooks.ts";
import { eventsOfType, gated, turnsEnded } from "../../helpers/runtime.ts";
import { waitUntil } from "../../helpers/wait-until.ts";
import { ask, gather, team } from "../groups/team.ts";
import { forest } from "../subagents/forest.ts";
import { answer, human, start } from "./stage.ts";

describe("message_received", () => {
  const shout = hook("message_received", ({ content }) => content.toUpperCase());

  it("changes a message before it is written, whoever sends it and however", async () => {
    const seen: HookContexts["message_received"][] = [];
    const { runtime } = await start([
      hook("message_received", (context) => void seen.push(context)),
      { ...shout, name: "s" },
    ]);
    const session = await answer(runtime, "hello");
    const from = { kind: "workflow", name: "w", run: "run_1", status: null } as const;
    await runtime.inbox.admit({ session: session.id, sender: from, body: "more" });
    await turnsEnded(runtime, 2);
    expect((await runtime.inbox.list(session.id, { limit: 10 })).map(({ body }) => body)).toEqual(["HELLO", "MORE"]);
    expect(seen).toMatchObject([
      { content: "hello", sender: human, session: { id: session.id, handle: session.handle } },
      { content: "more", sender: from },
    ]);
  });

  it("is not asked again for a message that is sent again", async () => {
    const call = vi.fn(({ content }: { content: string }) => `${content} (seen)`);
    const { runtime } = await start([hook("message_received", call)], gated().reply);
    const { session } = await runtime.sessions.create({});
    const id = newId("msg", 1);
    const send = (body: string) => runtime.inbox.admit({ id, session: session.id, sender: human, body });
    expect((await send("same")).duplicate).toBe(false);
    expect((await send("same")).duplicate).toBe(true);
    await expect(send("other")).rejects.toThrow(/used before for another message/);
    expect(call).toHaveBeenCalledOnce();
    expect((await runtime.inbox.get(id)).body).toBe("same (seen)");
  });

  it("sees no notice of Aegis itself, and cannot make a message unfit", async () => {
    const call = vi.fn(() => "a\0b");
    const { runtime } = await start([hook("message_received", call)], gated().reply);
    const { session } = await runtime.sessions.create({});
    await runtime.inbox.admit({ session: session.id, sender: { kind: "substrate" }, body: "notice" });
    expect(call).not.toHaveBeenCalled();
    await runtime.inbox.admit({ session: session.id, sender: human, body: "text" });
    expect(call).toHaveBeenCalledOnce();
    expect((await runtime.inbox.list(session.id, { limit: 10 })).map(({ body }) => body)).toEqual(["notice", "text"]);
  });

  it("counts an agent's messages once", async () => {
    const { runtime } = await start([shout], gated().reply);
    const { session: from } = await runtime.sessions.create({});
    const { session: to } = await runtime.sessions.create({});
    const sender = { kind: "agent", session: from.id, handle: from.handle } as const;
    for (let n = 0; n < 120; n++) await runtime.inbox.admit({ session: to.id, sender, body: `message ${n}` });
    await expect(runtime.inbox.admit({ session: to.id, sender, body: "one more" })).rejects.toMatchObject({
      code: "too_many",
    });
  });

  it("runs again only when the row was not written", async () => {
    const call = vi.fn(() => "changed");
    let broken = false;
    const { runtime } = await start([hook("message_received", call)], gated().reply, (store) => ({
      ...store,
      read: store.read,
      onCommit: (listener) => store.onCommit(listener),
      // The crash comes after the hook and before the commit.
      transact: (unit) =>
        store.transact(async (tx) => {
          const value = await unit(tx);
          if (broken) throw new Error("killed");
          return value;
        }),
    }));
    const { session } = await runtime.sessions.create({});
    const send = { id: newId("msg", 1), session: session.id, sender: human, body: "text" };
    broken = true;
    await expect(runtime.inbox.admit(send)).rejects.toThrow("killed");
    broken = false;
    expect((await runtime.inbox.admit(send)).duplicate).toBe(false);
    expect((await runtime.inbox.admit(send)).duplicate).toBe(true);
    expect(call).toHaveBeenCalledTimes(2);
    expect(await eventsOfType(runtime.store, "message.admitted")).toHaveLength(1);
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
    runtime.hooks.registry.add(plugin);
    const { id, members } = await ask(runtime, "scouts");
    const sender = { kind: "group", group: "scouts", broadcast: id };
    expect(seen.map((one) => [one.session.id, one.sender])).toEqual(members.map(({ session }) => [session, sender]));
  });

  it("is the pooled agent that hooks were shown", async () => {
    const { seen, plugin } = watching();
    const f = await forest();
    const root = await f.root();
    f.runtime.hooks.registry.add(plugin);
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
