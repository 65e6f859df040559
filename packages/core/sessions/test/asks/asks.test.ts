import type { Ask } from "@aegis/contract/ask.ts";
import type { PermissionAnswer } from "@aegis/drivers/driver.ts";
import { type Clock, systemClock } from "@aegis/lib/clock.ts";
import {
  completed,
  eventsOfType,
  said,
  type TestReply,
  type TestRuntime,
  testDriver,
  testRuntime,
  turnsEnded,
} from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

/** An agent that wants to run `rm` before it says anything. */
function cautious(answers: PermissionAnswer[] = []): TestReply {
  return async function* ({ spec, signal }) {
    const request = {
      call: "c1",
      tool: "bash",
      kind: "execute",
      title: "run rm -rf build",
      input: { command: "rm" },
    } as const;
    const answer = await spec.host.permission(request, signal);
    answers.push(answer);
    yield said(answer.decision);
    yield completed;
  };
}

async function openAsk(runtime: TestRuntime): Promise<Ask> {
  await waitUntil("somebody is asked", async () => (await runtime.asks.list({ status: "open", limit: 10 })).length > 0);
  const [ask] = await runtime.asks.list({ status: "open", limit: 10 });
  return ask as Ask;
}

/** What a daemon that was stopped before anybody answered leaves behind. */
async function leftOpen(): Promise<{ dir: string; ask: Ask }> {
  const dir = await memoryDir();
  const runtime = await testRuntime(dir, testDriver(cautious()));
  await runtime.sessions.create({ prompt: "clean up" });
  const ask = await openAsk(runtime);
  runtime.asks.stop();
  await runtime.stop();
  return { dir, ask };
}

describe("an approval", () => {
  it.each([
    ["allow", "", { decision: "allow", scope: "once" }],
    ["deny", "not on Fridays", { decision: "deny", reason: "not on Fridays" }],
    ["deny", "", { decision: "deny", reason: "denied by a person" }],
  ])("answered with %s %j reaches the harness", async (choice, text, expected) => {
    const answers: PermissionAnswer[] = [];
    const runtime = await testRuntime(await memoryDir(), testDriver(cautious(answers)));
    await runtime.sessions.create({ prompt: "clean up" });
    const ask = await openAsk(runtime);
    expect(ask).toMatchObject({
      kind: "permission",
      question: "run rm -rf build",
      tool: "bash",
      detail: { command: "rm" },
    });
    await runtime.asks.answer(ask.id, { choice, text });
    await turnsEnded(runtime, 1);
    expect(answers).toEqual([expected]);
  });

  it("given for the session is not asked again, there and nowhere else", async () => {
    const runtime = await testRuntime(await memoryDir(), testDriver(cautious()));
    const { session } = await runtime.sessions.create({ prompt: "one" });
    await runtime.asks.answer((await openAsk(runtime)).id, { choice: "always", text: "" });
    await turnsEnded(runtime, 1);
    await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "two" });
    await turnsEnded(runtime, 2);
    expect(await eventsOfType(runtime.store, "ask.opened")).toHaveLength(1);
    await runtime.sessions.create({ prompt: "another session" });
    expect((await openAsk(runtime)).session).not.toBe(session.id);
  });

  it("takes the first valid answer and tells the others", async () => {
    const runtime = await testRuntime(await memoryDir(), testDriver(cautious()));
    await runtime.sessions.create({ prompt: "clean up" });
    const ask = await openAsk(runtime);
    await expect(runtime.asks.answer(ask.id, { choice: "alow", text: "" })).rejects.toThrow(/did you mean "allow"/);
    await expect(runtime.asks.answer(ask.id, { choice: "allow", text: "" }, "stale")).rejects.toThrow(
      /no longer about what was approved/,
    );
    const results = await Promise.allSettled([
      runtime.asks.answer(ask.id, { choice: "deny", text: "" }, ask.digest),
      runtime.asks.answer(ask.id, { choice: "allow", text: "" }, ask.digest),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected"]);
  });

  it("is taken back when the turn is cut", async () => {
    const runtime = await testRuntime(await memoryDir(), testDriver(cautious()));
    const { session } = await runtime.sessions.create({ prompt: "clean up" });
    const ask = await openAsk(runtime);
    await runtime.sessions.interrupt(session.id);
    expect((await runtime.asks.get(ask.id)).status).toBe("withdrawn");
    await expect(runtime.asks.answer(ask.id, { choice: "allow", text: "" })).rejects.toThrow(/withdrawn already/);
  });

  it("without an answer is a denial with the reason", async () => {
    const runtime = await testRuntime(await memoryDir(), testDriver(cautious()));
    const { session } = await runtime.sessions.create({});
    const question = {
      kind: "permission",
      question: "?",
      tool: "bash",
      detail: null,
      options: ["allow", "deny"],
    } as const;
    const settled = await runtime.asks.ask(
      { ...question, options: [...question.options], session: session.id, timeoutMs: 1 },
      new AbortController().signal,
    );
    expect(settled.status).toBe("expired");
  });
});

describe("over a restart", () => {
  it("an open ask stays open and its answer waits for a repetition of the ask", async () => {
    const { dir, ask } = await leftOpen();
    const answers: PermissionAnswer[] = [];
    const second = await testRuntime(dir, testDriver(cautious(answers)));
    await second.asks.resume();
    expect((await openAsk(second)).id).toBe(ask.id);
    await second.asks.answer(ask.id, { choice: "allow", text: "" });
    await second.recover();
    await second.sessions.wakeAll();
    await turnsEnded(second, 2);
    expect(answers).toEqual([{ decision: "allow", scope: "once" }]);
    expect(await eventsOfType(second.store, "ask.opened")).toHaveLength(1);
  });

  it("an answer that is not fetched in time has no effect", async () => {
    const { dir, ask } = await leftOpen();
    let late = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + late };
    const second = await testRuntime(dir, testDriver(cautious()), { clock });
    await second.asks.answer(ask.id, { choice: "allow", text: "" });
    late = 3_600_000;
    await second.recover();
    await second.sessions.wakeAll();
    expect((await openAsk(second)).id).not.toBe(ask.id);
  });

  it("an answer counts once", async () => {
    const runtime = await testRuntime(await memoryDir(), testDriver(cautious()));
    const { session } = await runtime.sessions.create({ prompt: "one" });
    const ask = await openAsk(runtime);
    await runtime.asks.answer(ask.id, { choice: "allow", text: "" });
    await turnsEnded(runtime, 1);
    await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "two" });
    expect((await openAsk(runtime)).id).not.toBe(ask.id);
  });
});

describe("a session without a person who can answer", () => {
  it("gets a denial at once, without an ask", async () => {
    const answers: PermissionAnswer[] = [];
    const runtime = await testRuntime(await memoryDir(), testDriver(cautious(answers)));
    await runtime.sessions.create({ prompt: "clean up", ask_policy: "deny" });
    await turnsEnded(runtime, 1);
    expect(answers).toEqual([{ decision: "deny", reason: "this session has no person to ask" }]);
    expect(await eventsOfType(runtime.store, "ask.opened")).toEqual([]);
  });
});

describe("a question with two who wait", () => {
  const question = { kind: "question", question: "which?", tool: null, detail: null, options: [] } as const;

  async function two() {
    const runtime = await testRuntime(await memoryDir(), testDriver(cautious()));
    const { session } = await runtime.sessions.create({});
    const asked = { ...question, options: [], session: session.id };
    const ask = (signal: AbortSignal) => runtime.asks.ask(asked, signal);
    const [first, second] = [new AbortController(), new AbortController()];
    const [one, other] = [ask(first.signal), ask(second.signal)];
    const { id } = await openAsk(runtime);
    return { runtime, id, first, second, one, other, ask };
  }

  it("stays open when one of them hangs up, and the other gets the answer", async () => {
    const { runtime, id, first, one, other } = await two();
    first.abort();
    expect(await one).toEqual({ status: "withdrawn", answer: null });
    expect((await runtime.asks.get(id)).status).toBe("open");
    await runtime.asks.answer(id, { choice: null, text: "blue" });
    expect(await other).toMatchObject({ status: "answered", answer: { text: "blue" } });
  });

  it("is taken back when the last one has hung up", async () => {
    const { runtime, id, first, second, one, other } = await two();
    first.abort();
    second.abort();
    expect((await Promise.all([one, other])).map(({ status }) => status)).toEqual(["withdrawn", "withdrawn"]);
    expect((await runtime.asks.get(id)).status).toBe("withdrawn");
    expect(await eventsOfType(runtime.store, "ask.settled")).toHaveLength(1);
  });

  it("stays open for somebody who comes while the last one leaves", async () => {
    const { runtime, id, first, second, one, other, ask } = await two();
    first.abort();
    await one;
    const third = ask(new AbortController().signal);
    second.abort();
    expect((await other).status).toBe("withdrawn");
    expect((await runtime.asks.get(id)).status).toBe("open");
    await runtime.asks.answer(id, { choice: null, text: "green" });
    expect((await third).answer?.text).toBe("green");
  });
});

describe("what is allowed for the session", () => {
  const never = new AbortController().signal;
  const bash = { call: null, tool: "bash", kind: "execute", title: "rm", input: { command: "rm" } } as const;

  async function answered(runtime: TestRuntime, asking: Promise<PermissionAnswer>): Promise<PermissionAnswer> {
    await runtime.asks.answer((await openAsk(runtime)).id, { choice: "always", text: "" });
    return asking;
  }

  it("does not speak for a gate, and a gate's answer only for the same reason", async () => {
    const runtime = await testRuntime(await memoryDir(), testDriver(cautious()));
    const { session } = await runtime.sessions.create({});
    const ask = (more: object) => runtime.asks.permission(session.id, { ...bash, ...more }, never);
    expect(await answered(runtime, ask({}))).toEqual({ decision: "allow", scope: "session" });
    const gate = { gate: true, reason: "it writes to .aegis" };
    // The harness must come to the gate again, so it is never told "for the session".
    expect(await answered(runtime, ask(gate))).toEqual({ decision: "allow", scope: "once" });
    expect(await ask(gate)).toEqual({ decision: "allow", scope: "once" });
    expect(await ask({ reason: "whatever the harness says" })).toEqual({ decision: "allow", scope: "session" });
    expect(await answered(runtime, ask({ ...gate, reason: "it writes to .git" }))).toMatchObject({ scope: "once" });
    expect(await eventsOfType(runtime.store, "ask.opened")).toHaveLength(3);
  });
});

describe("an ask says on whose behalf it is asked", () => {
  it("up to the root of the tree", async () => {
    const runtime = await testRuntime(await memoryDir(), testDriver(cautious()));
    const top = (await runtime.sessions.create({ handle: "top-one" })).session;
    await runtime.sessions.create({ handle: "sub-one", parent: top.id, depth: 1, prompt: "clean up" });
    const ask = await openAsk(runtime);
    expect(ask.origin).toMatchObject({
      handle: "sub-one",
      harness: "scripted",
      parents: [{ session: top.id, handle: "top-one" }],
      senders: [{ kind: "human" }],
    });
    expect(ask.cwd).not.toBeNull();
  });
});

describe("an ask without a deadline", () => {
  it("that a stopped daemon left is taken back when its asker does not come again", async () => {
    const { dir, ask } = await leftOpen();
    expect(ask.expires_at).toBeNull();
    let late = 0;
    const sleeping = Promise.withResolvers<void>();
    const clock: Clock = {
      now: () => systemClock.now() + late,
      sleep: (ms, signal) => (ms > 60_000 ? sleeping.promise : systemClock.sleep(ms, signal)),
    };
    const second = await testRuntime(dir, testDriver(cautious()), { clock });
    await second.asks.resume();
    expect((await second.asks.get(ask.id)).status).toBe("open");
    late = 11 * 60_000;
    sleeping.resolve();
    await waitUntil("it is taken back", async () => (await second.asks.get(ask.id)).status === "withdrawn");
    expect((await second.asks.get(ask.id)).settled_reason).toContain("restarted");
  });
});
