import type { Agent } from "@aegis/contract/agent.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { PooledAgent } from "@aegis/contract/subagent.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { eventsOfType, said } from "@aegis/test/helpers/runtime.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it, vi } from "vitest";
import { type Forest, forest } from "../subagents/forest.ts";

const helper = { ...offlineAgent, slug: "helper" };
const choice = { slug: offlineAgent.slug, why: "a test" };

type Answer = { result: string; agent_id: SessionId };

async function withHelper(options: Parameters<typeof forest>[0] = {}): Promise<Forest> {
  const f = await forest(options);
  f.runtime.agents.replace([offlineAgent, helper], choice);
  return f;
}

async function pool(f: Forest): Promise<PooledAgent[]> {
  return f.runtime.store.read.pool.list();
}

/** The pooled session that works for a call that was just made. */
async function leased(f: Forest, count = 1): Promise<SessionId> {
  await waitUntil(
    `${count} are leased`,
    async () => (await pool(f)).filter((row) => row.lease !== null).length >= count,
  );
  const [newest] = (await pool(f))
    .filter((row) => row.lease !== null)
    .toSorted((a, b) => (b.lease?.since ?? 0) - (a.lease?.since ?? 0));
  if (newest === undefined) throw new Error("nobody is leased");
  await f.turnOf(newest.session);
  return newest.session;
}

async function run(f: Forest, caller: SessionId, input: Record<string, unknown>, said: string): Promise<Answer> {
  const call = f.call(caller, "agent", { agent_name: "helper", ...input });
  const session = await leased(f);
  await f.say(session, said);
  const outcome = await call;
  expect(outcome).toMatchObject({ is_error: false });
  return JSON.parse(outcome.output) as Answer;
}

async function refusal(f: Forest, caller: SessionId, name: string, input: unknown, key?: string) {
  const outcome = await f.call(caller, name, input, key);
  expect(outcome.is_error).toBe(true);
  return JSON.parse(outcome.output) as { success: boolean; error: string; error_type: string };
}

describe("the agent tool", () => {
  it("has an agent do a task, and gives the next one to the same session", async () => {
    const f = await withHelper();
    const root = await f.root();
    const call = f.call(root, "agent", {
      agent_name: "helper",
      task_prompt: "look",
      context_files: ["src/a.ts"],
      thoroughness: "quick",
    });
    const session = await leased(f);
    const { prompt, spec } = await f.turnOf(session);
    expect(prompt.text).toContain(
      "Execute this task: look\n\nRead these files first:\n- src/a.ts\n\nYou have 1 minute;",
    );
    expect(spec.agent.slug).toBe("helper");
    await f.say(session, "seen");
    expect(JSON.parse((await call).output)).toEqual({ result: "seen", agent_id: session });
    expect(await run(f, root, { task_prompt: "again" }, "seen again")).toEqual({
      result: "seen again",
      agent_id: session,
    });
    expect(await pool(f)).toMatchObject([{ key: "agent-helper", uses: 2, lease: null }]);
    expect(f.driver.turns.filter((turn) => turn.session === session)).toHaveLength(2);
  });

  it("opens another session while the first is busy, and shrinks back to the cap when they are idle", async () => {
    const f = await withHelper({ config: "pool: { max: 1 }\n" });
    const root = await f.root();
    const one = f.call(root, "agent", { agent_name: "helper", task_prompt: "one" });
    const first = await leased(f);
    const two = f.call(root, "agent", { agent_name: "helper", task_prompt: "two" });
    await leased(f, 2);
    const second = (await pool(f)).find((row) => row.session !== first)?.session as SessionId;
    await f.turnOf(second);
    await f.say(first, "1");
    await f.say(second, "2");
    expect(JSON.parse((await one).output)).toEqual({ result: "1", agent_id: first });
    expect(JSON.parse((await two).output)).toEqual({ result: "2", agent_id: second });
    expect((await pool(f)).map((row) => row.session)).toEqual([second]);
    expect((await f.runtime.store.read.sessions.get(first))?.state).toBe("closed");
    expect(await eventsOfType(f.runtime.store, "pool.evicted")).toHaveLength(1);
  });

  it("gives each of several calls at once a session of its own", async () => {
    const f = await withHelper();
    const root = await f.root();
    await run(f, root, { task_prompt: "x" }, "first");
    const calls = [1, 2, 3, 4].map((task) => f.call(root, "agent", { agent_name: "helper", task_prompt: `${task}` }));
    await leased(f, 4);
    const sessions = (await pool(f)).map((row) => row.session);
    expect(sessions).toHaveLength(4);
    for (const session of sessions) await f.say(session, session);
    const answers = (await Promise.all(calls)).map(({ output }) => JSON.parse(output) as Answer);
    expect(answers.map((one) => one.agent_id).toSorted()).toEqual(sessions.toSorted());
    for (const { result, agent_id } of answers) expect(result).toBe(agent_id);
  });

  it("takes agent_type for agent_name, and opens a session that remembers nothing when asked for a fresh one", async () => {
    const f = await withHelper();
    const root = await f.root();
    const known = await run(f, root, { task_prompt: "x" }, "first");
    const input = { agent_name: undefined, agent_type: "helper", task_prompt: "x" };
    expect((await run(f, root, input, "second")).agent_id).toBe(known.agent_id);
    expect((await run(f, root, { ...input, fresh: true }, "third")).agent_id).not.toBe(known.agent_id);
    const nobody = await refusal(f, root, "agent", { task_prompt: "x" });
    expect(nobody.error).toContain("agent_name cannot be empty");
  });

  it("counts what pooled agents spend for a tree, and only for the one that asked", async () => {
    const f = await withHelper({ config: "subagents: { budget: { output_tokens: 100 } }\n" });
    const root = await f.root();
    const call = f.call(root, "agent", { agent_name: "helper", task_prompt: "x" });
    const session = await leased(f);
    const usage = { input: 1, cache_read: 0, cache_write: 0, output: 120, cost: 0.75 };
    await f.end(session, said("done"), { type: "turn.ended", reason: "completed", error: null, usage });
    const { agent_id } = JSON.parse((await call).output) as Answer;
    const told = "120 of 100 output tokens";
    expect((await refusal(f, root, "agent", { agent_name: "helper", task_prompt: "y" })).error).toContain(told);
    expect((await refusal(f, root, "agent_ask", { agent_id, message: "y" })).error).toContain(told);
    await run(f, await f.root(), { task_prompt: "for another tree" }, "done");
  });

  it("counts a pooled agent at work among the tree's live ones", async () => {
    const f = await withHelper({ config: "subagents: { budget: { agents: 1 } }\n" });
    const root = await f.root();
    const call = f.call(root, "agent", { agent_name: "helper", task_prompt: "x" });
    const session = await leased(f);
    const refused = await refusal(f, root, "agent", { agent_name: "helper", task_prompt: "y" });
    expect(refused.error).toContain("1 of 1 agents at work");
    await f.say(session, "done");
    await call;
  });

  it("never serves an agent that has changed since", async () => {
    const f = await withHelper();
    const root = await f.root();
    const { agent_id: old } = await run(f, root, { task_prompt: "x" }, "old");
    for (const change of [
      { model: "new" },
      { tools: ["aegis_meta"] },
      { prompt: "be brief" },
      { effort: "low" as const },
    ]) {
      const before = (await pool(f))[0]?.session;
      f.runtime.agents.replace([offlineAgent, { ...helper, ...change }], choice);
      const { agent_id } = await run(f, root, { task_prompt: "x" }, "new");
      expect(agent_id).not.toBe(before);
      expect(await pool(f)).toMatchObject([{ session: agent_id }]);
    }
    expect((await refusal(f, root, "agent_ask", { agent_id: old, message: "hi" })).error).toContain("Agent not found");
    const [kept] = await pool(f);
    f.runtime.agents.replace([offlineAgent, { ...helper, model: "newer" }], choice);
    const asked = await refusal(f, root, "agent_ask", { agent_id: kept?.session, message: "hi" });
    expect(asked.error).toContain("has changed since");
  });

  it("lets an agent go as soon as it has changed, and one at work when its task is over", async () => {
    const f = await withHelper();
    const root = await f.root();
    await run(f, root, { task_prompt: "x" }, "done");
    const reloaded = async (change: Partial<Agent>) => {
      f.runtime.agents.replace([offlineAgent, { ...helper, ...change }], choice);
      const data = { agents: ["offline", "helper"], default_agent: "offline" };
      await f.runtime.store.transact((tx) => tx.events.append({ type: "config.reloaded", session: null, data }, 1));
    };
    await reloaded({ description: "no other work" });
    expect(await pool(f)).toHaveLength(1);
    await reloaded({ model: "new" });
    await waitUntil("it has left", async () => (await pool(f)).length === 0);
    const call = f.call(root, "agent", { agent_name: "helper", task_prompt: "x" });
    await waitUntil("it is at work", async () => (await pool(f)).length === 1);
    const [held] = await pool(f);
    if (held === undefined) throw new Error("unreachable: the wait ends with it");
    await reloaded({ model: "newer" });
    const busy = { session: held.session, stale: true, state: "busy" };
    expect(await f.runtime.pool.list()).toMatchObject([busy]);
    await f.say(held.session, "done");
    expect(JSON.parse((await call).output)).toEqual({ result: "done", agent_id: held.session });
    await waitUntil("it has left too", async () => (await pool(f)).length === 0);
  });

  it("keeps agents apart whose shown keys are the same", async () => {
    const f = await withHelper();
    const ofPlugin = (plugin: string, slug: string) => ({ ...offlineAgent, slug, plugin, source: "plugin" as const });
    f.runtime.agents.registerPluginAgents([ofPlugin("a", "b-c"), ofPlugin("a-b", "c")]);
    const root = await f.root();
    const one = await run(f, root, { agent_name: "a:b-c", task_prompt: "x" }, "1");
    const two = await run(f, root, { agent_name: "a-b:c", task_prompt: "x" }, "2");
    expect(one.agent_id).not.toBe(two.agent_id);
    expect((await pool(f)).map((row) => row.key)).toEqual(["plugin-a-b-c", "plugin-a-b-c"]);
  });

  it.each([
    ["a name with bad characters", { agent_name: "../etc", task_prompt: "x" }, "invalid characters"],
    ["a name that is too long", { agent_name: "a".repeat(101), task_prompt: "x" }, "too long"],
    ["no name", { agent_name: " ", task_prompt: "x" }, "agent_name cannot be empty"],
    ["an unknown name", { agent_name: "helpr", task_prompt: "x" }, 'did you mean "helper"?'],
    ["no prompt", { agent_name: "helper", task_prompt: " \n" }, "task_prompt cannot be empty"],
    ["a prompt that is too long", { agent_name: "helper", task_prompt: "x".repeat(50_001) }, "too long"],
  ])("refuses %s", async (_, input, reason) => {
    const f = await withHelper();
    const refused = await refusal(f, await f.root(), "agent", input);
    expect(refused).toMatchObject({ success: false, error_type: "validation_error" });
    expect(refused.error).toContain(reason);
    expect(await pool(f)).toEqual([]);
  });

  it("refuses who is too deep and who may not, and ends a circle of agents that ask each other", async () => {
    const f = await withHelper({ config: "subagents: { max_spawn_depth: 2 }\n" });
    const root = await f.root();
    void f.call(root, "agent", { agent_name: "helper", task_prompt: "1" });
    const one = await leased(f);
    void f.call(one, "agent", { agent_name: "helper", task_prompt: "2" });
    await leased(f, 2);
    const two = (await pool(f)).find((row) => row.session !== one)?.session as SessionId;
    await f.turnOf(two);
    expect((await f.runtime.store.read.sessions.get(two))?.depth).toBe(2);
    expect((await refusal(f, two, "agent", { agent_name: "helper", task_prompt: "3" })).error_type).toBe(
      "permission_error",
    );
    const back = await refusal(f, two, "agent_ask", { agent_id: one, message: "help me" });
    expect(back.error_type).toBe("permission_error");
  });
});

describe("agent_ask", () => {
  it("continues with the history, for the session that gave the task", async () => {
    const f = await withHelper();
    const root = await f.root();
    const { agent_id } = await run(f, root, { task_prompt: "x" }, "first");
    const asked = f.call(root, "agent_ask", { agent_id, message: "and then?" });
    await leased(f);
    expect((await f.turnOf(agent_id)).prompt.text).toContain("and then?");
    await f.say(agent_id, "then this");
    expect(JSON.parse((await asked).output)).toEqual({ result: "then this", agent_id });
    const stranger = await f.root();
    expect((await refusal(f, stranger, "agent_ask", { agent_id, message: "tell me" })).error).toContain(
      "Agent not found",
    );
    expect((await refusal(f, root, "agent_ask", { agent_id: "nobody", message: "x" })).error_type).toBe(
      "validation_error",
    );
    expect((await refusal(f, root, "agent_ask", { agent_id, message: "" })).error_type).toBe("validation_error");
  });

  it("refuses one that is busy", async () => {
    const f = await withHelper();
    const root = await f.root();
    const { agent_id } = await run(f, root, { task_prompt: "x" }, "first");
    void f.call(root, "agent", { agent_name: "helper", task_prompt: "long" });
    await leased(f);
    const refused = await refusal(f, root, "agent_ask", { agent_id, message: "hurry" });
    expect(refused).toMatchObject({ error_type: "execution_error" });
    expect(refused.error).toContain("currently in use");
  });

  it("finds it again after a restart if its harness can be resumed, and says so if it cannot", async () => {
    for (const resume of [true, false]) {
      const f = await withHelper({ resume });
      const root = await f.root();
      const { agent_id } = await run(f, root, { task_prompt: "x" }, "first");
      await f.say(root, "so far");
      await waitUntil("the root is idle", () => !f.isWorking(root));
      await f.runtime.stop();
      const g = await withHelper({ dir: f.dir, resume });
      await g.runtime.inbox.admit({ session: root, sender: { kind: "human" }, body: "go on" });
      await g.turnOf(root);
      if (resume) {
        const asked = g.call(root, "agent_ask", { agent_id, message: "and?" });
        await g.say(await leased(g), "still here");
        expect(JSON.parse((await asked).output)).toEqual({ result: "still here", agent_id });
      } else {
        expect((await refusal(g, root, "agent_ask", { agent_id, message: "and?" })).error).toContain("lost its memory");
        expect((await run(g, root, { task_prompt: "x" }, "new")).agent_id).not.toBe(agent_id);
      }
    }
  });
});

describe("a lease ends once", () => {
  it.each([
    ["quick", 60_000],
    ["medium", 180_000],
    ["very thorough", 360_000],
  ])("when a %s task has used up its time", async (thoroughness, ms) => {
    const clock = fakeClock(Date.now());
    const f = await withHelper({ clock });
    const root = await f.root();
    const call = f.call(root, "agent", { agent_name: "helper", task_prompt: "x", thoroughness });
    const session = await leased(f);
    await clock.advance(ms - 1);
    expect(f.isWorking(session)).toBe(true);
    await clock.advance(1);
    expect(JSON.parse((await call).output)).toMatchObject({ success: false, error_type: "timeout_error" });
    expect(f.isWorking(session)).toBe(false);
    expect(await pool(f)).toMatchObject([{ session, lease: null }]);
  });

  it("when the caller is interrupted: the pooled turn is cut and the agent is free again", async () => {
    const f = await withHelper();
    const root = await f.root();
    const abort = new AbortController();
    const call = f.call(root, "agent", { agent_name: "helper", task_prompt: "x" }, "k", abort.signal);
    const session = await leased(f);
    abort.abort(new Error("interrupted"));
    expect((await call).is_error).toBe(true);
    expect(f.isWorking(session)).toBe(false);
    expect(await pool(f)).toMatchObject([{ session, lease: null }]);
    expect((await run(f, root, { task_prompt: "y" }, "ok")).agent_id).toBe(session);
  });

  it("when the caller's turn ends although its call hangs", async () => {
    const f = await withHelper();
    const root = await f.root();
    const call = f.call(root, "agent", { agent_name: "helper", task_prompt: "x" });
    const session = await leased(f);
    await f.runtime.sessions.interrupt(root);
    expect((await call).is_error).toBe(true);
    expect(f.isWorking(session)).toBe(false);
    expect((await pool(f))[0]?.lease).toBeNull();
  });

  it("when the caller's turn ends just after the lease", async () => {
    const f = await withHelper();
    const root = await f.root();
    const { turns } = f.runtime.store.read;
    const list = turns.list.bind(turns);
    const over = Promise.withResolvers<void>();
    // A call that looks for its turn only now finds one that has ended.
    const spy = vi.spyOn(turns, "list").mockImplementation(async (session, limit) => {
      if (session === root && (await pool(f)).some(({ lease }) => lease !== null)) await over.promise;
      return list(session, limit);
    });
    const call = f.call(root, "agent", { agent_name: "helper", task_prompt: "x" });
    await leased(f);
    await f.runtime.sessions.interrupt(root);
    over.resolve();
    expect((await call).is_error).toBe(true);
    expect((await pool(f))[0]?.lease).toBeNull();
    spy.mockRestore();
  });

  it("when the agent fails, and when its session is closed", async () => {
    const f = await withHelper();
    const root = await f.root();
    const failed = f.call(root, "agent", { agent_name: "helper", task_prompt: "x" });
    const session = await leased(f);
    await f.end(session, {
      type: "turn.ended",
      reason: "failed",
      error: { code: "model", message: "no" },
      usage: null,
    });
    expect(JSON.parse((await failed).output)).toMatchObject({ error_type: "execution_error" });
    const closed = f.call(root, "agent", { agent_name: "helper", task_prompt: "x" });
    expect(await leased(f)).toBe(session);
    await f.runtime.sessions.close(session, "by a person");
    expect((await closed).is_error).toBe(true);
    expect(await pool(f)).toEqual([]);
  });

  it("not by an earlier lease of the same session", async () => {
    const f = await withHelper();
    const root = await f.root();
    const { agent_id } = await run(f, root, { task_prompt: "x" }, "1");
    const [first] = await eventsOfType(f.runtime.store, "message.admitted").then((all) =>
      all.filter((event) => event.session === agent_id),
    );
    void f.call(root, "agent", { agent_name: "helper", task_prompt: "y" });
    await leased(f);
    const again = await f.runtime.store.transact((tx) => tx.pool.release(agent_id, first?.data.message.id ?? "", 1));
    expect(again).toBe(false);
    expect((await pool(f))[0]?.lease).not.toBeNull();
  });

  it("with a crash; the call that is repeated gets the answer to the task that was given before", async () => {
    const f = await withHelper();
    const root = await f.root();
    void f.call(root, "agent", { agent_name: "helper", task_prompt: "x" }, "the-call");
    const session = await leased(f);
    await f.runtime.stop();
    const g = await withHelper({ dir: f.dir });
    expect((await pool(g))[0]?.lease).toBeNull();
    await g.runtime.sessions.wakeAll();
    await g.turnOf(root);
    const call = g.call(root, "agent", { agent_name: "helper", task_prompt: "x" }, "the-call");
    await g.say(session, "done after all");
    expect(JSON.parse((await call).output)).toEqual({ result: "done after all", agent_id: session });
    expect(await g.runtime.store.read.messages.list(session)).toHaveLength(1);
  });
});
