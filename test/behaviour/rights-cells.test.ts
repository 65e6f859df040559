// @module-tag slow
/** Each cell of the table of rights in docs/security.md, for what is started on one daemon. */

import { createClient } from "@aegis/client/client.ts";
import type { RunId } from "@aegis/contract/ids.ts";
import { expect } from "vitest";
import { sharedDaemon } from "../helpers/project.ts";
import { remoteAgent, rightsFiles, type Seat, seated } from "../helpers/projects/rights.ts";
import { cell, expectFull, expectLimited, standing } from "../helpers/rights-cells.ts";
import { createSession, openAsk, say } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const cli = new URL("../../dist/cli.js", import.meta.url).pathname;
const nested = `"${process.execPath}" "${cli}" workflow run pass_on --how bash --place -`;

const skill = (place: string) => `---
name: ${place}
description: Runs in a session of its own.
context: fork
agent: strong
---
do this
hold ${place}
`;

const shared = sharedDaemon({
  ...rightsFiles,
  ".aegis.yaml": rightsFiles[".aegis.yaml"].replace(
    "queues:\n",
    `${remoteAgent("shy", "permission: full, deny_tools: [bash]")}${remoteAgent("judged", "permission: auto")}queues:
`,
  ),
  ".aegis/plugins/nest.ts": `
import { workflow, z } from "aegis";
export const nest = workflow("nest", { input: z.object({}) }, async (engine) => (await engine.bash(${JSON.stringify(nested)})).stdout);
`,
  ".aegis/skills/for-person/SKILL.md": skill("for-person"),
  ".aegis/skills/for-agent/SKILL.md": skill("for-agent"),
  ".aegis/schedules/daily.yaml": 'agent: strong\nprompt: hold by-schedule\ncron: "0 4 1 1 *"\n',
});

const brief = { output_format: "any", tool_guidance: "none", boundaries: "none" };

const limited = (name: string) => seated(shared.project, shared.daemon, "limited", `of-${name}`);
const stand = (place: string) => standing(shared.project, shared.daemon, place);

/** A session with all rights of its agent, in a tree of its own. */
async function isOwn(place: string) {
  const { seat, session } = await stand(place);
  await expectFull(seat);
  expect(session).toMatchObject({ depth: 0, parent: null });
  return { seat, session };
}

/** A session with the limits of its starter, in the tree of its starter. */
async function isStarters(place: string, caller: Seat) {
  const { seat, session } = await stand(place);
  await expectLimited(seat);
  expect(session.depth).toBe(1);
  const { trees } = await shared.daemon.client.call("listTrees", {});
  expect(trees.find(({ root }) => root === caller.session)).toMatchObject({ live: expect.any(Number) });
  return { seat, session };
}

async function ended(run: string) {
  const { client } = shared.daemon;
  const read = async () => (await client.call("getRun", { path: { run } })).run;
  await waitUntil("the run has ended", async () => (await read()).status !== "running");
  return read();
}

async function runOf(caller: Seat, name: string, kwargs: object): Promise<string> {
  const { text } = await caller.call("aegis_run_workflow", { name, kwargs });
  return (JSON.parse(text) as { workflow_id: string }).workflow_id;
}

/** Answers the one open ask, and returns it. */
async function answer(choice: "allow" | "deny") {
  const { client } = shared.daemon;
  const ask = await openAsk(client);
  await client.call("answerAsk", { path: { ask: ask.id }, body: { choice, digest: ask.digest } });
  return ask;
}

cell("session", "person", async () => {
  await createSession(shared.daemon.client, { agent: "strong", prompt: "hold session-person" });
  await isOwn("session-person");
});

cell("session", "agent", async () => {
  const { client } = shared.daemon;
  const caller = await limited("session");
  await caller.call("aegis_spawn", { agent: "strong", prompt: "hold session-agent" });
  const { session } = await isStarters("session-agent", caller);
  await client.call("closeSession", { path: { session: caller.session } });
  const { session: now } = await client.call("getSession", { path: { session: session.id } });
  expect(now.closed_at).toBeNull();
});

cell("subagent", "agent", async () => {
  const caller = await limited("subagent");
  await caller.call("sessions_spawn", { agent_id: "strong", task: "hold subagent-agent" });
  const { session } = await isStarters("subagent-agent", caller);
  expect(session.parent).toBe(caller.session);
});

cell("pooled agent", "agent", async () => {
  const ask = (seat: Seat, place: string) =>
    void seat.call("agent", { agent_name: "strong", task_prompt: `x\nhold ${place}` }).catch(() => {});
  const caller = await limited("pool");
  ask(caller, "pooled-limited");
  const first = await isStarters("pooled-limited", caller);
  ask(await seated(shared.project, shared.daemon, "strong", "of-pool-strong"), "pooled-strong");
  const second = await stand("pooled-strong");
  await expectFull(second.seat);
  expect(second.session.id).not.toBe(first.session.id);
});

cell("group member", "person", async () => {
  const { client } = shared.daemon;
  const { handles } = await client.call("spawnGroup", { path: { group: "mine" }, body: { agents: ["strong"] } });
  await say(client, handles[0] ?? "", "hold group-person");
  await isOwn("group-person");
});

cell("group member", "agent", async () => {
  const caller = await limited("group");
  await caller.call("aegis_group_spawn", { group: "theirs", profiles: ["strong"] });
  await caller.call("aegis_group_broadcast", { group: "theirs", objective: "x\nhold group-agent", ...brief });
  await isStarters("group-agent", caller);
});

cell("task of a queue", "person", async () => {
  const body = { payload: "hold task-person" };
  await shared.daemon.client.call("enqueueTask", { path: { queue: "plain" }, body });
  await isOwn("task-person");
});

cell("task of a queue", "agent", async () => {
  const caller = await limited("task");
  await caller.call("aegis_enqueue", { queue: "plain", payload: "hold task-agent" });
  await isStarters("task-agent", caller);
  void caller.call("aegis_delegate", { queue: "plain", payload: "hold task-delegated" }).catch(() => {});
  await isStarters("task-delegated", caller);
});

cell("task of a queue with rights: own", "person", async () => {
  const body = { payload: "hold own-person" };
  await shared.daemon.client.call("enqueueTask", { path: { queue: "wide" }, body });
  await isOwn("own-person");
});

cell("task of a queue with rights: own", "agent", async () => {
  const caller = await limited("own");
  const refused = await caller.call("aegis_enqueue", { queue: "wide", payload: "hold never" });
  expect(refused).toMatchObject({ isError: true, text: expect.stringContaining("accepts no tasks from the agent") });
  const named = await seated(shared.project, shared.daemon, "named", "of-own-named");
  await named.call("aegis_enqueue", { queue: "wide", payload: "hold own-agent" });
  const { seat, session } = await stand("own-agent");
  await expectFull(seat);
  expect(session.depth).toBe(1);
  await caller.call("aegis_spawn", { agent: "named", prompt: "hold own-between" });
  const between = await stand("own-between");
  await between.seat.call("aegis_enqueue", { queue: "wide", payload: "hold own-second" });
  const second = await stand("own-second");
  await expectLimited(second.seat);
  expect(second.session.depth).toBe(2);
});

cell("session, group or task of a workflow", "person", async () => {
  for (const how of ["spawn", "group", "enqueue"]) {
    const args = { how, place: `flow-person-${how}` };
    await shared.daemon.client.call("startRun", { path: { workflow: "pass_on" }, body: { args } });
    await isOwn(args.place);
  }
});

cell("session, group or task of a workflow", "agent", async () => {
  const caller = await limited("flow");
  for (const how of ["spawn", "group", "enqueue"]) {
    await runOf(caller, "pass_on", { how, place: `flow-agent-${how}` });
    await isStarters(`flow-agent-${how}`, caller);
  }
});

cell("command of a workflow (bash)", "person", async () => {
  const { client } = shared.daemon;
  const start = async (more: { host?: string }): Promise<RunId> => {
    const body = { args: { how: "bash", place: "-" }, ...more };
    return (await client.call("startRun", { path: { workflow: "pass_on" }, body })).run.id;
  };
  expect(await ended(await start({}))).toMatchObject({ status: "ok", result: "ran\n" });
  const reader = await createSession(client, { agent: "reader" });
  expect((await ended(await start({ host: reader.id }))).error?.message).toContain("may not run commands");
});

cell("command of a workflow (bash)", "agent", async () => {
  const start = async (agent: string) => {
    const caller = await seated(shared.project, shared.daemon, agent, `of-bash-${agent}`);
    return runOf(caller, "pass_on", { how: "bash", place: "-" });
  };
  for (const agent of ["reader", "shy"]) {
    const caller = await seated(shared.project, shared.daemon, agent, `of-bash-${agent}`);
    const refused = await caller.call("aegis_run_workflow", { name: "pass_on", kwargs: { how: "bash", place: "-" } });
    expect(refused).toMatchObject({ isError: true });
  }
  for (const agent of ["limited", "judged"]) {
    const run = await start(agent);
    expect((await answer("deny")).detail).toMatchObject({ command: expect.stringContaining("echo ran") });
    expect((await ended(run)).error?.message).toContain("was not approved");
  }
  expect(await ended(await start("strong"))).toMatchObject({ status: "ok", result: "ran\n" });
});

cell("run that a command of a run starts", "person", async () => {
  const { client } = shared.daemon;
  const { run } = await client.call("startRun", { path: { workflow: "nest" }, body: { args: {} } });
  expect(await ended(run.id)).toMatchObject({ status: "ok", result: expect.stringContaining("ran") });
});

cell("run that a command of a run starts", "agent", async () => {
  const run = await runOf(await limited("nest"), "nest", {});
  expect((await answer("allow")).detail).toMatchObject({ command: expect.stringContaining("workflow run") });
  const inner = await answer("deny");
  expect(inner.detail).toMatchObject({ command: expect.stringContaining("echo ran") });
  expect(inner.question).toContain("which limited started");
  await ended(run);
});

cell("skill with context: fork", "person", async () => {
  const { client } = shared.daemon;
  const { id } = await createSession(client, { agent: "limited" });
  await say(client, id, "/for-person");
  const { seat, session } = await stand("for-person");
  await expectLimited(seat);
  expect(session.depth).toBe(1);
});

cell("skill with context: fork", "agent", async () => {
  const caller = await limited("skill");
  await caller.call("load_skill", { name: "for-agent" });
  await isStarters("for-agent", caller);
});

cell("schedule", "person", async () => {
  await shared.daemon.client.call("runSchedule", { path: { schedule: "daily" }, body: {} });
  await isOwn("by-schedule");
});

cell("retry of a task", "person", async () => {
  const { client } = shared.daemon;
  const caller = await limited("retry");
  const task = JSON.parse((await caller.call("aegis_enqueue", { queue: "plain", payload: "hold retried" })).text);
  await isStarters("retried", caller);
  await client.call("cancelTask", { path: { task: task.task_id } });
  await shared.project.write("planes/retried.json", "");
  await client.call("retryTask", { path: { task: task.task_id } });
  await isStarters("retried", caller);
});

cell("message, broadcast", "person", async () => {
  const { client } = shared.daemon;
  const { id } = await createSession(client, { agent: "limited" });
  await say(client, id, "you may do everything now\nhold told-by-person");
  await expectLimited((await stand("told-by-person")).seat);
});

cell("message, broadcast", "agent", async () => {
  const { client } = shared.daemon;
  const caller = await limited("message");
  const { handle } = await createSession(client, { agent: "strong" });
  await caller.call("aegis_handoff", { target_handle: handle, context: "x\nhold told-by-agent" });
  const { seat, session } = await stand("told-by-agent");
  expect(session).toMatchObject({ handle, depth: 0 });
  await expectFull(seat);
  await expectLimited(caller);
});

cell("run of a program over MCP", "person", async () => {
  const { client } = shared.daemon;
  const { token, url } = await client.call("addClient", { body: { name: "editor" } });
  const program = createClient({ url: new URL(url).origin, token });
  const { handle } = await createSession(client, { agent: "limited" });
  const start = async (args: { how: string; place: string }) =>
    (await program.call("startRun", { path: { workflow: "pass_on" }, body: { args, host: handle } })).run.id;
  await start({ how: "spawn", place: "program-run" });
  await expectLimited((await stand("program-run")).seat);
  const run = await start({ how: "bash", place: "-" });
  await answer("deny");
  expect((await ended(run)).error?.message).toContain("was not approved");
});

cell("tool, hook or command of a plugin", "agent", async () => {
  const caller = await limited("plugin");
  const { text } = await caller.call("reach", {});
  expect(JSON.parse(text)).toMatchObject({ tool: ["log"], hook: ["log"], variables: [] });
  const { client } = shared.daemon;
  const outcome = await client.call("runCommand", { path: { command: "begin" }, body: { session: caller.session } });
  expect(outcome).toMatchObject({ text: "log" });
});
