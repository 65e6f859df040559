import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { eventsOfType, said } from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { type Forest, forest } from "./forest.ts";

async function refusal(f: Forest, ...call: Parameters<Forest["call"]>): Promise<string> {
  const outcome = await f.call(...call);
  expect(outcome.is_error).toBe(true);
  return outcome.output;
}

describe("a subagent", () => {
  it("is started at once, works alone and tells its parent exactly once", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { task: "count the files", label: "count" });
    expect(child).toMatchObject({ parent: root, root, depth: 1, label: "count", status: "running" });
    const turn = await f.turnOf(child.session);
    expect(turn.prompt.text).toMatch(/^> from agent:\S+ · \S+\ncount the files$/);
    expect(turn.spec.systemPrompt).toContain('started you as "count" for one task, at depth 1');
    await f.say(child.session, "there are 7");
    expect(await f.ended(child.run_id)).toMatchObject({ status: "done", result: "there are 7", announced_to: root });
    expect(f.isWorking(root)).toBe(true);
    await f.say(root, "I wait");
    const next = await f.turnOf(root);
    expect(next.prompt.text).toMatch(
      /^> from substrate · \S+\n\[Subagent Complete\] "count" \(done\)\. Result: there are 7$/,
    );
    expect(await f.announcements(root)).toHaveLength(1);
  });

  it("wakes an idle parent, and says why it did not succeed", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "a" });
    await f.say(root, "done for now");
    await waitUntil("the parent is idle", () => !f.isWorking(root));
    await f.end(child.session, said("half of it"), {
      type: "turn.ended",
      reason: "failed",
      error: { code: "overloaded", message: "the model is overloaded" },
      usage: null,
    });
    expect(await f.ended(child.run_id)).toMatchObject({ status: "error", result: "half of it" });
    expect((await f.turnOf(root)).prompt.text).toContain(
      '[Subagent Complete] "a" (error). Result: the model is overloaded\n\nIts last message was:\n\nhalf of it',
    );
  });

  it("is started once by a call that is repeated, also when there is no room any more", async () => {
    const f = await forest({ config: "subagents: { max_children: 1 }\n" });
    const root = await f.root();
    const first = await f.call(root, "sessions_spawn", { task: "once" }, "the-call");
    const again = await f.call(root, "sessions_spawn", { task: "once" }, "the-call");
    expect(again).toEqual(first);
    expect(await f.runtime.store.read.subagents.below(root)).toHaveLength(1);
    expect(await refusal(f, root, "sessions_spawn", { task: "another" }, "the-call")).toContain("another task");
  });

  it("has a label no sibling has, its agent's name without one", async () => {
    const f = await forest();
    const root = await f.root();
    const labels = [];
    for (const label of ["x", "x", undefined, undefined]) labels.push((await f.spawn(root, { label })).label);
    expect(labels).toEqual(["x", "x-2", offlineAgent.slug, `${offlineAgent.slug}-2`]);
  });

  it("is announced only when everything below it is over, with what it says then", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "child" });
    const grandchild = await f.spawn(child.session, { label: "grandchild" });
    expect(grandchild).toMatchObject({ depth: 2, root, parent: child.session });
    await f.say(child.session, "I wait for it");
    await waitUntil("its turn is over", () => !f.isWorking(child.session));
    expect((await f.row(child.run_id)).status).toBe("running");
    expect(await f.announcements(root)).toEqual([]);
    await f.say(grandchild.session, "deep result");
    expect((await f.turnOf(child.session)).prompt.text).toContain("deep result");
    await f.say(child.session, "all in all: deep result");
    await f.ended(child.run_id);
    expect(await f.announcements(root)).toEqual([
      '[Subagent Complete] "child" (done). Result: all in all: deep result',
    ]);
  });

  it("ends as timeout when its time is over, also when nothing can stop it", async () => {
    const f = await forest();
    const root = await f.root();
    // Long enough for a busy machine to start both.
    const seconds = Math.ceil(scaled(500) / 1_000);
    const child = await f.spawn(root, { label: "slow", timeout: seconds });
    const below = await f.spawn(child.session, { timeout: 600 });
    expect(below.deadline).toBe(child.deadline);
    await f.deafen(child.session);
    expect(await f.ended(child.run_id)).toMatchObject({ status: "timeout", error: `Timed out after ${seconds}s` });
    expect(await f.row(below.run_id)).toMatchObject({ status: "killed", announced_to: null });
    expect(await f.announcements(root)).toEqual([
      `[Subagent Complete] "slow" (timeout). Result: Timed out after ${seconds}s`,
    ]);
  });

  it("gets its model, and no more rights and tools than its parent has", async () => {
    const f = await forest({ config: "subagents: { max_spawn_depth: 1 }\n" });
    const careful = { ...offlineAgent, slug: "careful", permission: "read" as const, deny_tools: ["aegis_close"] };
    const strong = { ...offlineAgent, slug: "strong", permission: "full" as const };
    f.runtime.agents.replace([offlineAgent, careful, strong], { slug: "careful", why: "a test" });
    const root = await f.root();
    const child = await f.spawn(root, { agent_id: "strong", model: "big" });
    const { agent, host } = (await f.turnOf(child.session)).spec;
    expect(agent).toMatchObject({ slug: "strong", model: "big", permission: "read" });
    const names = (await host.tools.list()).map((tool) => tool.name);
    expect(names).toContain("sessions_list");
    for (const name of ["aegis_close", "sessions_spawn", "agent"]) expect(names).not.toContain(name);
    expect(await refusal(f, child.session, "sessions_spawn", { task: "more" })).toContain("permission_error");
  });
});

describe("a spawn is refused", () => {
  it.each([
    ["when subagents are off", "subagents: { enabled: false }", "disabled"],
    ["at the depth limit", "subagents: { max_spawn_depth: 0 }", "you are at depth 0"],
  ])("%s", async (_, config, reason) => {
    const f = await forest({ config: `${config}\n` });
    expect(await refusal(f, await f.root(), "sessions_spawn", { task: "x" })).toContain(reason);
  });

  it.each([
    ["children", "subagents: { max_children: 1 }", "1 of your subagents are running"],
    ["agents at work", "subagents: { budget: { agents: 1 } }", "1 of 1 agents at work"],
    [
      "agents of the last day",
      "subagents: { budget: { spawns: 1 } }",
      "1 of 1 agents that are open, wait or were started in the last 24 hours",
    ],
  ])("for too many %s", async (_, config, reason) => {
    const f = await forest({ config: `${config}\n` });
    const root = await f.root();
    await f.spawn(root);
    expect(await refusal(f, root, "sessions_spawn", { task: "x" })).toContain(reason);
  });

  it("for too many children, also when all are started at once", async () => {
    const f = await forest({ config: "subagents: { max_children: 3 }\n" });
    const root = await f.root();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => f.call(root, "sessions_spawn", { task: "x" })));
    expect(outcomes.filter((outcome) => !outcome.is_error)).toHaveLength(3);
    const labels = (await f.runtime.store.read.subagents.below(root)).map((row) => row.label);
    expect(new Set(labels).size).toBe(3);
  });

  it.each([
    ["output tokens", "output_tokens: 100", "120 of 100 output tokens"],
    ["dollars", "usd: 0.5", "0.75 of 0.5 US dollars"],
    ["fractions of a cent", "usd: 0.000001", "0.75 of 0.000001 US dollars"],
  ])("when the tree has used up its %s, wherever in it", async (_, budget, reason) => {
    const f = await forest({ config: `subagents: { budget: { ${budget} } }\n` });
    const root = await f.root();
    const child = await f.spawn(root);
    const usage = { input: 1, cache_read: 0, cache_write: 0, output: 120, cost: 0.75 };
    await f.end(child.session, said("done"), { type: "turn.ended", reason: "completed", error: null, usage });
    await f.ended(child.run_id);
    expect(await refusal(f, root, "sessions_spawn", { task: "x" })).toContain(reason);
  });

  it("for what is used up in turns that are still in progress", async () => {
    const f = await forest({ config: "subagents: { budget: { output_tokens: 100 } }\n" });
    const root = await f.root();
    const child = await f.spawn(root);
    const [turn] = await f.runtime.store.read.turns.list(child.session, 1);
    const usage = { input: 1, cache_read: 0, cache_write: 0, output: 120, cost: null };
    await f.runtime.store.transact(async (tx) => turn && tx.turns.spend(turn.id, usage));
    expect(await refusal(f, root, "sessions_spawn", { task: "x" })).toContain("120 of 100 output tokens");
  });

  it("for lack of time, and no subagent gets more time than its branch has left", async () => {
    const clock = fakeClock(Date.now());
    const f = await forest({ clock, config: "subagents: { budget: { minutes: 2 } }\n" });
    const root = await f.root();
    const child = await f.spawn(root, { timeout: 3_600 });
    expect(child).toMatchObject({ deadline: child.created_at + 120_000, timeout: 120 });
    await clock.advance(90_000);
    const below = await f.spawn(child.session, { timeout: 3_600 });
    expect(below).toMatchObject({ deadline: child.deadline, timeout: 30 });
    await clock.advance(30_000);
    expect(await f.ended(child.run_id)).toMatchObject({ status: "timeout" });
    expect(await f.ended(below.run_id)).toMatchObject({ status: "killed" });
    // The next branch has its own time.
    expect((await f.spawn(root, { timeout: 60 })).timeout).toBe(60);
  });

  it("for an agent that is not allowed, with those that are, and for one that does not exist", async () => {
    const f = await forest();
    const boss = { ...offlineAgent, slug: "boss", subagents: { allow_agents: ["worker"] } };
    const worker = { ...offlineAgent, slug: "worker" };
    f.runtime.agents.replace([offlineAgent, boss, worker], { slug: "boss", why: "a test" });
    const root = await f.root();
    expect(await refusal(f, root, "sessions_spawn", { task: "x" })).toContain('may not start the agent "boss"');
    expect(await refusal(f, root, "sessions_spawn", { task: "x", agent_id: "werker" })).toContain(
      'did you mean "worker"?',
    );
    expect(await f.spawn(root, { agent_id: "worker" })).toMatchObject({ agent: "worker" });
  });

  it("for the first reason in the order of the checks", async () => {
    const f = await forest({ config: "subagents: { budget: { spawns: 1 } }\n" });
    const root = await f.root();
    await f.spawn(root);
    const held = { enabled: false, max_spawn_depth: 0, max_children: 1, allow_agents: [] };
    const reasons = ["disabled", "you are at depth 0", "1 of your subagents are running", "you may not start"];
    const left = Object.entries(held);
    for (const reason of [...reasons, "1 of 1 agents that are open, wait or were started in the last 24 hours"]) {
      const callerAgent = { ...offlineAgent, subagents: Object.fromEntries(left) };
      const spawned = f.runtime.subagents.spawn({ callerAgent, caller: root, key: reason, task: "x" });
      await expect(spawned).rejects.toThrow(reason);
      left.shift();
    }
  });

  it("for agents that start themselves, once they are deep enough", async () => {
    const f = await forest();
    let session = await f.root();
    for (let depth = 1; depth <= 2; depth++) session = (await f.spawn(session)).session;
    expect(await refusal(f, session, "sessions_spawn", { task: "and so on" })).toContain("permission_error");
  });

  it.each([
    ["an empty task", { task: "" }],
    ["a blank task", { task: "  " }],
    ["a label with a quote", { task: "x", label: 'a"b' }],
    ["a label that is a path", { task: "x", label: "a/b" }],
    ["no time", { task: "x", timeout: 0 }],
    ["an unknown cleanup", { task: "x", cleanup: "burn" }],
  ])("with %s", async (_, input) => {
    const f = await forest();
    const root = await f.root();
    await refusal(f, root, "sessions_spawn", input);
    expect(await f.runtime.store.read.subagents.below(root)).toEqual([]);
  });

  it("once the caller has ended itself", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root);
    const spec = (await f.turnOf(child.session)).spec;
    await f.say(child.session, "done");
    await f.ended(child.run_id);
    const late = await spec.host.tools.call(
      "sessions_spawn",
      { task: "x" },
      { key: "late", signal: new AbortController().signal },
    );
    expect(late).toMatchObject({ is_error: true });
    expect(late.output).toContain("you have ended as the subagent");
  });
});

describe("events tell", () => {
  it("of the start, the end and the cleaning up", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { label: "a", cleanup: "delete" });
    await f.say(child.session, "ok");
    await f.ended(child.run_id);
    const { store } = f.runtime;
    const [spawned] = await eventsOfType(store, "subagent.spawned");
    expect(spawned).toMatchObject({ session: root, data: { subagent: { run_id: child.run_id } } });
    const [ended] = await eventsOfType(store, "subagent.ended");
    expect(ended).toMatchObject({ session: root, data: { label: "a", status: "done", announced_to: root } });
    expect(await eventsOfType(store, "subagent.archived")).toHaveLength(1);
  });
});
