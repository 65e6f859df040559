/** An agent of the pool belongs to the tree of its holder: its subagents count there, and end with its task. */

import type { SessionId } from "@aegis/contract/ids.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { type Forest, forest } from "../subagents/forest.ts";

const helper = { ...offlineAgent, slug: "helper" };
const choice = { slug: offlineAgent.slug, why: "a test" };

async function withHelper(config: string): Promise<Forest> {
  const f = await forest({ config });
  f.runtime.agents.replace([offlineAgent, helper], choice);
  return f;
}

/** Has the caller use the pool, and gives the session that works for it. */
async function held(f: Forest, caller: SessionId, signal?: AbortSignal): Promise<SessionId> {
  void f.call(caller, "agent", { agent_name: "helper", task_prompt: "look" }, undefined, signal);
  const rows = () => f.runtime.store.read.pool.list();
  await waitUntil("it is held", async () => (await rows()).some((row) => row.lease?.holder === caller));
  const session = (await rows()).find((row) => row.lease?.holder === caller)?.session as SessionId;
  await f.turnOf(session);
  return session;
}

it("its subagents count towards the budget of the tree, however often the pool is used", async () => {
  const f = await withHelper("subagents: { max_spawn_depth: 5, budget: { spawns: 3 } }\n");
  const root = await f.root();
  const first = await f.spawn(root);
  const pooled = await held(f, first.session);
  const below = await f.spawn(pooled);
  expect(below).toMatchObject({ root, depth: 3, parent: pooled });
  const more = await f.call(pooled, "sessions_spawn", { task: "more" });
  expect(more).toMatchObject({ is_error: true });
  expect(more.output).toContain("3 of 3 agents that are open, wait or were started in the last 24 hours");
  const another = await f.call(pooled, "agent", { agent_name: "helper", task_prompt: "more" });
  expect(another.output).toContain("3 of 3 agents that are open, wait or were started in the last 24 hours");
});

it("its subagents have no more time than the holder of the lease", async () => {
  const f = await withHelper("subagents: { max_spawn_depth: 5, budget: { minutes: 2 } }\n");
  const first = await f.spawn(await f.root(), { timeout: 60 });
  const below = await f.spawn(await held(f, first.session), { timeout: 600 });
  expect(below.deadline).toBe(first.deadline);
});

it("its subagents end when its task is cut, and no session is woken for that", async () => {
  const f = await withHelper("subagents: { max_spawn_depth: 5 }\n");
  const root = await f.root();
  const stop = new AbortController();
  const pooled = await held(f, root, stop.signal);
  const child = await f.spawn(pooled, { label: "child" });
  const grandchild = await f.spawn(child.session, { label: "grandchild" });
  stop.abort();
  expect(await f.ended(child.run_id)).toMatchObject({ status: "killed", announcement: null });
  expect(await f.row(grandchild.run_id)).toMatchObject({ status: "killed" });
  expect(await f.announcements(pooled)).toEqual([]);
});

it("a kill reaches what the pool does for the killed one", async () => {
  const f = await withHelper("subagents: { max_spawn_depth: 5 }\n");
  const root = await f.root();
  const first = await f.spawn(root, { label: "first" });
  const below = await f.spawn(await held(f, first.session));
  await f.call(root, "sessions_kill", { run_id: "first" });
  expect(await f.ended(below.run_id)).toMatchObject({ status: "killed" });
});

it("a plugin's agent may start fewer than the project allows, never more", async () => {
  const f = await withHelper("subagents: { max_children: 1, max_spawn_depth: 1 }\n");
  const source = { source: "plugin" as const, plugin: "p" };
  const greedy = { ...helper, ...source, slug: "greedy", subagents: { max_children: 9, max_spawn_depth: 9 } };
  const modest = { ...helper, ...source, slug: "modest", subagents: { enabled: false } };
  f.runtime.agents.registerPluginAgents([greedy, modest]);
  const start = async (agent: string) => {
    const { session } = await f.runtime.sessions.create({ agent, prompt: "begin" });
    await f.turnOf(session.id);
    return session.id;
  };
  const one = await start("greedy");
  await f.spawn(one);
  expect((await f.call(one, "sessions_spawn", { task: "x" })).output).toContain("1 of your subagents are running");
  expect((await f.call(await start("modest"), "sessions_spawn", { task: "x" })).output).toContain("disabled");
});
