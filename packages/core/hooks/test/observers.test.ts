import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { HookContexts, HookObserver } from "@aegis/contract/hook.ts";
import { hook, testPlugin } from "@aegis/test/helpers/hooks.ts";
import { eventsOfType, gated, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { forest } from "../../delegation/test/subagents/forest.ts";
import { addQueue, answer, echo, human, never, start } from "./stage.ts";

describe("observers", () => {
  /** Everything that observers are told, in order. */
  function watch(...events: HookObserver[]) {
    const seen: [string, Record<string, unknown>][] = [];
    const hooks = events.map((event) => hook(event, (context) => void seen.push([event, context as never])));
    return {
      seen,
      hooks,
      told: (event: HookObserver) => seen.flatMap(([name, context]) => (name === event ? [context] : [])),
    };
  }

  it("learn of a session's start, turns and end, in order", async () => {
    const { seen, hooks, told } = watch("session_start", "post_turn", "session_end", "on_error", "on_interrupt");
    const { runtime, dir } = await start(hooks);
    const session = await answer(runtime, "hello");
    await runtime.inbox.admit({ session: session.id, sender: human, body: "again" });
    await turnsEnded(runtime, 2);
    await runtime.sessions.close(session.id, "enough");
    await waitUntil("the end is told", () => told("session_end").length === 1);
    expect(seen.map(([event]) => event)).toEqual(["session_start", "post_turn", "post_turn", "session_end"]);
    expect(told("session_start")).toMatchObject([{ session: { id: session.id }, resumed: false, projectRoot: dir }]);
    expect(told("post_turn")[1]).toMatchObject({
      userMessage: "again",
      assistantMessage: "heard: again",
      reason: "completed",
      error: null,
    });
    expect(told("session_end")).toMatchObject([{ reason: "enough", session: { handle: session.handle } }]);
  });

  it("learn that a session goes on after a restart", async () => {
    const dir = await tempDir();
    const first = await testRuntime(dir, testDriver(echo));
    const session = await answer(first, "hello");
    await first.stop();
    const { hooks, told } = watch("session_start");
    const second = await testRuntime(dir, testDriver(echo));
    second.hooks.table.add(testPlugin("spy", hooks));
    await second.inbox.admit({ session: session.id, sender: human, body: "again" });
    await waitUntil("the start is told", () => told("session_start").length === 1);
    expect(told("session_start")).toMatchObject([{ resumed: true }]);
  });

  it("learn of turns that are cut or fail", async () => {
    const { hooks, told } = watch("on_error", "on_interrupt");
    const gate = gated();
    let failing = false;
    const { runtime } = await start(hooks, (turn) => {
      if (!failing) return gate.reply(turn);
      throw new Error("out of order");
    });
    const { session } = await runtime.sessions.create({ prompt: "hello" });
    await waitUntil("the turn runs", () => runtime.driver.turns.length === 1);
    await runtime.turns.interrupt(session.id);
    await waitUntil("the cut is told", () => told("on_interrupt").length === 1);
    failing = true;
    await runtime.inbox.admit({ session: session.id, sender: human, body: "again" });
    await waitUntil("the failure is told", () => told("on_error").length === 1);
    expect(told("on_error")).toMatchObject([{ session: { id: session.id }, error: { message: "out of order" } }]);
  });

  it("learn of what agents give each other, and of tasks", async () => {
    const { hooks, told } = watch("on_handoff", "on_enqueue");
    const { runtime } = await start(hooks);
    const one = await answer(runtime, "hello");
    const two = await answer(runtime, "hello");
    const sender = { kind: "agent", session: one.id, handle: one.handle } as const;
    const { message } = await runtime.inbox.admit({ session: two.id, sender, body: "take over" });
    await waitUntil("it is told", () => told("on_handoff").length === 1);
    await addQueue(runtime, "work");
    const { task } = await runtime.queues.enqueue({ queue: "work", payload: "p", producer: one.id, callback: false });
    await waitUntil("the task is told", () => told("on_enqueue").length === 1);
    expect(told("on_enqueue")).toMatchObject([{ queue: "work", task: task.id, payload: "p", from: { id: one.id } }]);
    expect(told("on_handoff")).toMatchObject([
      { from: { id: one.id }, to: { id: two.id }, message, content: "take over" },
    ]);
  });

  it("that never answer delay no turn", async () => {
    const { runtime } = await start([hook("post_turn", () => new Promise(() => {}), { timeoutMs: 60_000 })]);
    await answer(runtime, "one");
    await answer(runtime, "two");
    expect(await eventsOfType(runtime.store, "turn.ended")).toHaveLength(2);
  });

  it("learn of the daemon's start, a plugin that comes later of its own, and of the end", async () => {
    const early = watch("on_startup", "on_shutdown");
    const { runtime, dir } = await start(early.hooks);
    runtime.hooks.started();
    await waitUntil("the start is told", () => early.told("on_startup").length === 1);
    const late = watch("on_startup");
    runtime.hooks.table.add(testPlugin("late", late.hooks));
    await waitUntil("the late one is told", () => late.told("on_startup").length === 1);
    expect(early.told("on_startup")).toEqual([{ projectRoot: dir, version: "test" }]);
    await runtime.hooks.close("asked to", never);
    expect(early.told("on_shutdown")).toEqual([{ projectRoot: dir, reason: "asked to" }]);
  });
});

it("leaves a line for each call", async () => {
  const { runtime, dir } = await start([
    hook("pre_turn", () => null, { name: "look" }),
    hook(
      "pre_turn",
      () => {
        throw new Error("broken");
      },
      { name: "../../etc/break", strict: false },
    ),
  ]);
  const session = await answer(runtime, "hello");
  await runtime.hooks.close("over", never);
  const lines = async (file: string) => (await readFile(join(dir, "hooks", file), "utf8")).trimEnd().split("\n");
  expect((await lines("spy.look.jsonl")).map((line) => JSON.parse(line))).toEqual([
    {
      ts: expect.any(Number),
      duration_ms: expect.any(Number),
      event: "pre_turn",
      plugin: "spy",
      hook: "look",
      strict: false,
      status: "ok",
      session: session.id,
    },
  ]);
  expect((await lines("spy..._.._etc_break.jsonl")).map((line) => JSON.parse(line))).toMatchObject([
    { status: "exception", error: "broken" },
  ]);
});

describe("subagents", () => {
  it("are told of when they start and end, with who started them, and are no handover", async () => {
    const f = await forest();
    const seen: [string, unknown][] = [];
    const events = ["subagent_spawned", "subagent_ended", "on_handoff"] as const;
    const hooks = events.map((event) => hook(event, (context) => void seen.push([event, context])));
    f.runtime.hooks.table.add(testPlugin("spy", hooks));
    const root = await f.root();
    const child = await f.spawn(root, { label: "child", task: "look" });
    await f.say(child.session, "found it");
    await waitUntil("the end is told", () => seen.length === 2);
    const about = {
      session: { id: child.session, depth: 1 },
      parent: { id: root },
      runId: child.run_id,
      label: "child",
    };
    expect(seen).toMatchObject([
      ["subagent_spawned", { ...about, task: "look" }],
      ["subagent_ended", { ...about, status: "done", result: "found it" }],
    ]);
  });

  it("get their task as hooks made it, under the name that the hooks were shown", async () => {
    const f = await forest();
    const seen: HookContexts["message_received"][] = [];
    const change = hook("message_received", (context) => {
      seen.push(context);
      return `${context.content}, gently`;
    });
    const root = await f.root();
    f.runtime.hooks.table.add(testPlugin("spy", [change]));
    const child = await f.spawn(root, { label: "child", task: "look" });
    expect((await f.turnOf(child.session)).prompt.text).toContain("look, gently");
    const row = await f.runtime.store.read.sessions.get(child.session);
    expect(seen).toMatchObject([{ content: "look", session: { id: child.session, handle: row?.handle, depth: 1 } }]);
  });
});
