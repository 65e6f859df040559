/** Rights of what an earlier version stored, and of pooled agents whose holder has lost some. */

import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import { queueSettingsSchema } from "@aegis/contract/task.ts";
import { workerPlace } from "@aegis/delegation/queues/rights.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import type { Engine } from "@aegis/plugin-api/workflow-context.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { forest } from "../../../delegation/test/subagents/forest.ts";

const choice = { slug: "boss", why: "a test" };
const boss = { ...offlineAgent, slug: "boss", permission: "full" as const };
const reader = { ...boss, permission: "read" as const };
const strong = { ...offlineAgent, slug: "strong", permission: "full" as const };

it("a task of an agent that was stored without a starter gets the rights its producer has now", async () => {
  const f = await forest();
  const { agents, queues, store } = f.runtime;
  agents.replace([reader, strong], choice);
  await queues.add("line", queueSettingsSchema.parse({ agent: "strong", max_parallel: 5 }));
  await queues.start();
  const limitsOf = async (task: TaskId) => {
    const worker = (await queues.task(task)).task.worker as SessionId;
    await f.turnOf(worker);
    return store.read.sessions.get(worker);
  };
  const legacy = async (caller: SessionId) => {
    await queues.pause("line");
    const { output } = await f.call(caller, "aegis_enqueue", { queue: "line", payload: "do it" });
    const { task_id: task } = JSON.parse(output) as { task_id: TaskId };
    await store.transact((tx) => tx.tasks.update(task, { starter: null }));
    return task;
  };
  const caller = await f.root();
  const task = await legacy(caller);
  await queues.resume("line");
  expect(await limitsOf(task)).toMatchObject({ root: caller, depth: 1, limits: { permission: "read" } });

  const orphan = await legacy(caller);
  agents.replace([strong], { slug: "strong", why: "a test" });
  await queues.resume("line");
  expect(await limitsOf(orphan)).toMatchObject({ limits: { permission: "read" } });
});

it("a task gets the queue's own rights only while the queue still names its producer", async () => {
  const f = await forest();
  const { agents, queues, store } = f.runtime;
  agents.replace([reader, strong], choice);
  const settings = (producers: string[]) => queueSettingsSchema.parse({ agent: "strong", rights: "own", producers });
  await queues.add("line", settings(["boss"]));
  const caller = await f.root();
  const { output } = await f.call(caller, "aegis_enqueue", { queue: "line", payload: "do it" });
  const { task } = await queues.task((JSON.parse(output) as { task_id: TaskId }).task_id);
  const budget = { agents: 9, spawns: 9 };
  const rules = {
    enabled: true,
    max_spawn_depth: 2,
    max_children: 9,
    default_timeout: 9,
    session_ttl_minutes: 9,
    budget,
  };
  const placeWith = (producers: string[]) =>
    workerPlace(store.read, task, settings(producers), { agents, subagentSettings: () => rules });
  expect(await placeWith(["boss"])).toMatchObject({ root: caller, depth: 1, limits: null });
  expect(await placeWith(["other"])).toMatchObject({ root: caller, depth: 1, limits: { permission: "read" } });
});

it("a run does not wait for a task that could start only after the run's own end", async () => {
  const f = await forest({ config: "subagents: { max_children: 1 }\n" });
  const { agents, queues, workflows } = f.runtime;
  agents.replace([boss, strong], choice);
  await queues.add("line", queueSettingsSchema.parse({ agent: "strong" }));
  await queues.start();
  await workflows.launch();
  const body = async (engine: Engine) => {
    await engine.spawn("strong");
    return engine.delegate("line", "do it");
  };
  workflows.add(
    workflow("wait", {}, async (engine) => body(engine as Engine)),
    "a test",
  );
  const { id } = await workflows.start({ workflow: "wait", host: await f.root(), callback: false });
  await waitUntil("it is over", async () => (await workflows.runs.find(id)).status !== "running");
  const { error } = await workflows.runs.find(id);
  expect(error?.message).toContain("1 of your subagents are running");
});

it("a pooled agent is not asked again with rights that its holder no longer has", async () => {
  const f = await forest();
  const { agents, store } = f.runtime;
  agents.replace([boss, strong], choice);
  const caller = await f.root();
  const held = async () => (await store.read.pool.list())[0]?.session as SessionId;
  const call = f.call(caller, "agent", { agent_name: "strong", task_prompt: "look" });
  await waitUntil("it is taken", async () => (await held()) !== undefined);
  const session = await held();
  await f.say(session, "seen");
  const { agent_id } = JSON.parse((await call).output) as { agent_id: SessionId };
  expect(agent_id).toBe(session);

  agents.replace([reader, strong], choice);
  await f.say(caller, "first turn over");
  await f.runtime.inbox.admit({ session: caller, sender: { kind: "human" }, body: "go on" });
  await f.turnOf(caller);
  const again = await f.call(caller, "agent_ask", { agent_id, message: "write it" });
  expect(again).toMatchObject({ is_error: true, output: expect.stringContaining("has changed since") });
  const fresh = f.call(caller, "agent", { agent_name: "strong", task_prompt: "look again" });
  await waitUntil("another one is taken", async () => {
    const rows = await store.read.pool.list();
    return rows.some((row) => row.session !== session && row.lease !== null);
  });
  const other = (await store.read.pool.list()).find((row) => row.session !== session)?.session as SessionId;
  expect((await f.turnOf(other)).spec.agent.permission).toBe("read");
  await f.say(other, "seen again");
  await fresh;
});
