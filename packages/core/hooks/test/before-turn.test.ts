import type { HookContexts } from "@aegis/contract/hook.ts";
import { hook, testPlugin } from "@aegis/test/helpers/hooks.ts";
import { eventsOfType, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { addQueue, answer, echo, human, never, start } from "./stage.ts";

describe("pre_turn", () => {
  it("puts text ahead, changes the prompt and adds history", async () => {
    const { runtime, driver } = await start([
      hook("pre_turn", ({ userMessage }) => ({
        prependSystem: "Be brief.",
        rewriteUser: `${userMessage}!`,
        extendHistory: [{ role: "assistant", text: "earlier" }],
      })),
    ]);
    await answer(runtime, "hello");
    expect(driver.turns[0]?.prompt).toMatchObject({
      text: "Be brief.\n\nhello!",
      history: [{ role: "assistant", text: "earlier" }],
    });
  });

  it("is shown the session's real history and number of turns", async () => {
    const seen: HookContexts["pre_turn"][] = [];
    const { runtime, dir } = await start([hook("pre_turn", (context) => void seen.push(context))]);
    const session = await answer(runtime, "one");
    await runtime.inbox.admit({ session: session.id, sender: human, body: "two" });
    await turnsEnded(runtime, 2);
    expect(seen).toMatchObject([
      { turnIndex: 0, userMessage: "one", history: [] },
      {
        turnIndex: 1,
        userMessage: "two",
        senders: [human],
        history: [
          { role: "user", text: "one" },
          { role: "assistant", text: "heard: one" },
        ],
        projectRoot: dir,
        session: { id: session.id, handle: session.handle, depth: 0, harness: "scripted" },
      },
    ]);
  });

  it("is told how often the conversation was summed up", async () => {
    const seen: number[] = [];
    const { runtime } = await start(
      [hook("pre_turn", ({ summedUp }) => void seen.push(summedUp))],
      async function* (turn) {
        if (turn.prompt.text === "sum up") yield { type: "compaction", summary: "short" };
        yield* echo(turn);
      },
    );
    const session = await answer(runtime, "one");
    for (const [index, body] of ["sum up", "sum up", "two"].entries()) {
      await runtime.inbox.admit({ session: session.id, sender: human, body });
      await turnsEnded(runtime, index + 2);
    }
    expect(seen).toEqual([0, 0, 1, 2]);
  });

  it("is shown what was said before a fork, and not what its origin said since", async () => {
    const seen: HookContexts["pre_turn"][] = [];
    const runtime = await testRuntime(await tempDir(), testDriver(echo, { fork: true }));
    runtime.hooks.table.add(testPlugin("spy", [hook("pre_turn", (context) => void seen.push(context))]));
    const first = await answer(runtime, "one");
    const { session: fork } = await runtime.sessions.fork(first.id, {});
    await runtime.inbox.admit({ session: first.id, sender: human, body: "only the first" });
    await turnsEnded(runtime, 2);
    const { session: second } = await runtime.sessions.fork(fork.id, { prompt: "two" });
    await turnsEnded(runtime, 3);
    expect(seen.at(-1)).toMatchObject({ session: { id: second.id }, turnIndex: 0, userMessage: "two" });
    expect(seen.at(-1)?.history.map(({ text }) => text)).toEqual(["one", "heard: one"]);
  });

  it("blocks: the turn is refused, the session ready, the agent never started, the sender told", async () => {
    const { runtime, driver } = await start([
      hook("pre_turn", ({ userMessage }) => (userMessage.includes("secret") ? { block: "not allowed" } : null)),
    ]);
    const sender = await answer(runtime, "hello");
    const { session: target } = await runtime.sessions.create({});
    const from = { kind: "agent", session: sender.id, handle: sender.handle } as const;
    const { message } = await runtime.inbox.admit({ session: target.id, sender: from, body: "a secret" });
    await turnsEnded(runtime, 3);
    const ends = await eventsOfType(runtime.store, "turn.ended");
    expect(ends.find((event) => event.session === target.id)?.data).toMatchObject({
      reason: "refused",
      error: { code: "blocked", message: "not allowed" },
    });
    expect((await runtime.sessions.view(target.id, "me")).state).toBe("ready");
    expect(driver.turns.map((turn) => turn.session)).toEqual([sender.id, sender.id]);
    expect(driver.turns[1]?.prompt.text).toContain(
      `Your message ${message} to "${target.handle}" was blocked: not allowed`,
    );
  });

  it("ends a task at once, with the reason", async () => {
    const { runtime } = await start([hook("pre_turn", () => ({ block: "not today" }))]);
    await addQueue(runtime, "work");
    await runtime.queues.start();
    const { task } = await runtime.queues.enqueue({ queue: "work", payload: "do it", producer: null, callback: false });
    await waitUntil("the task has ended", async () => (await eventsOfType(runtime.store, "task.ended")).length === 1);
    const [ended] = await eventsOfType(runtime.store, "task.ended");
    expect(ended?.data).toMatchObject({ task: task.id, status: "failed", error: "not today" });
  });

  it("cannot hold a turn that is cut", async () => {
    const { runtime } = await start([hook("pre_turn", () => new Promise(() => {}), { timeoutMs: 60_000 })]);
    const { session } = await runtime.sessions.create({ prompt: "hello" });
    await waitUntil("the turn runs", () => runtime.turns.count === 1);
    expect(await runtime.turns.interrupt(session.id)).toBe(true);
    expect((await eventsOfType(runtime.store, "turn.ended"))[0]?.data.reason).toBe("cancelled");
  });
});

describe("before_agent_start", () => {
  it("puts what is new of the system prompt ahead of the prompt, once a turn", async () => {
    const { runtime, driver } = await start([
      hook("before_agent_start", ({ systemPrompt, messages }) => ({
        systemPrompt: `${systemPrompt}\n\nToday is Monday.`,
        messages: [{ role: "assistant", content: "before" }, ...messages, { role: "user", content: "instead" }],
      })),
    ]);
    await answer(runtime, "hello");
    expect(driver.turns[0]?.prompt).toMatchObject({
      text: "Today is Monday.\n\ninstead",
      history: [
        { role: "assistant", text: "before" },
        { role: "user", text: "hello" },
      ],
    });
    expect(driver.turns[0]?.spec.systemPrompt).not.toContain("Monday");
  });

  it("is asked before each model call of a driver that makes them", async () => {
    const { runtime, driver } = await start([
      hook("before_agent_start", ({ systemPrompt }) => ({ systemPrompt: `${systemPrompt}+` })),
    ]);
    await answer(runtime, "hello");
    const messages = [{ role: "user", content: "x" }];
    const host = driver.turns[0]?.spec.host;
    expect(await host?.beforeModel({ systemPrompt: "base", messages }, never)).toEqual({
      systemPrompt: "base+",
      messages,
    });
  });
});

describe("pre_spawn", () => {
  const command = { argv: ["agent", "--run"] as [string, ...string[]], env: { PATH: "/bin", KEY: "k" }, cwd: "/" };

  it("changes how a process is started", async () => {
    const { runtime, driver } = await start([
      hook("pre_spawn", ({ argv, env }) => ({ argv: ["sandbox", ...argv], env: { ...env, EXTRA: "1", KEY: null } })),
    ]);
    await answer(runtime, "hello");
    expect(await driver.turns[0]?.spec.host.prepareSpawn(command)).toEqual({
      argv: ["sandbox", "agent", "--run"],
      env: { PATH: "/bin", EXTRA: "1" },
      cwd: "/",
    });
  });

  it("blocks with its reason", async () => {
    const { runtime, driver } = await start([hook("pre_spawn", () => ({ block: "not on this machine" }))]);
    await answer(runtime, "hello");
    await expect(driver.turns[0]?.spec.host.prepareSpawn(command)).rejects.toMatchObject({
      name: "DriverError",
      turnError: { code: "blocked", message: "not on this machine" },
    });
  });
});
