/** Everything that an agent starts has no more rights than the agent: one case for each way of starting. */

import { newId, type RunId } from "@aegis/contract/ids.ts";
import { expect, it } from "vitest";
import { sharedDaemon } from "../helpers/project.ts";
import { rightsFiles, type Seat, seated, takeSeat } from "../helpers/projects/rights.ts";
import { createSession } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const shared = sharedDaemon(rightsFiles);

const brief = { output_format: "any", tool_guidance: "none", boundaries: "none" };

type Way = (caller: Seat, place: string) => Promise<unknown>;

const run =
  (how: string): Way =>
  (caller, place) =>
    caller.call("aegis_run_workflow", { name: "pass_on", kwargs: { how, place } });

/** Each makes a session of the strong agent begin with a message that says `hold <place>`. */
const ways: Record<string, Way> = {
  aegis_spawn: (caller, place) => caller.call("aegis_spawn", { agent: "strong", prompt: `hold ${place}` }),
  sessions_spawn: (caller, place) => caller.call("sessions_spawn", { agent_id: "strong", task: `hold ${place}` }),
  aegis_group_spawn: async (caller, place) => {
    const group = `crew-${place}`;
    await caller.call("aegis_group_spawn", { group, profiles: ["strong"] });
    return caller.call("aegis_group_broadcast", { group, objective: `x\nhold ${place}`, ...brief });
  },
  // These answer when the session has done its work, which it never does here.
  agent: async (caller, place) =>
    void caller.call("agent", { agent_name: "strong", task_prompt: `x\nhold ${place}` }).catch(() => {}),
  aegis_delegate: async (caller, place) =>
    void caller.call("aegis_delegate", { queue: "plain", payload: `hold ${place}` }).catch(() => {}),
  aegis_enqueue: (caller, place) => caller.call("aegis_enqueue", { queue: "plain", payload: `hold ${place}` }),
  "load_skill of a skill with context: fork": (caller) => caller.call("load_skill", { name: "elsewhere" }),
  "a workflow that spawns": run("spawn"),
  "a workflow that starts a group": run("group"),
  "a workflow that gives a task to a queue": run("enqueue"),
};

const placeOf = (way: string, caller: string) =>
  way.startsWith("load_skill") ? "forked" : `${caller}-${Object.keys(ways).indexOf(way)}`;

it.each(Object.keys(ways))("%s: the session has the limits of the agent that started it", async (way) => {
  const { project, daemon } = shared;
  const place = placeOf(way, "limited");
  const caller = await seated(project, daemon, "limited", `caller-of-${place}`);
  await ways[way]?.(caller, place);
  const started = await takeSeat(project, daemon, place, newId("ses", 1));
  const tools = await started.tools();
  expect(tools).toContain("aegis_meta");
  expect(tools).not.toContain("mark");
  expect(tools).not.toContain("aegis_task_status");
  expect(await started.call("mark", {})).toMatchObject({ isError: true });
});

it("a person's session, task and run have all that their agent has", async () => {
  const { project, daemon } = shared;
  const { client } = daemon;
  await createSession(client, { agent: "strong", prompt: "hold by-person" });
  await client.call("enqueueTask", { path: { queue: "plain" }, body: { payload: "hold by-task" } });
  const args = { how: "spawn", place: "by-run" };
  await client.call("startRun", { path: { workflow: "pass_on" }, body: { args } });
  for (const place of ["by-person", "by-task", "by-run"]) {
    const tools = await (await takeSeat(project, daemon, place, newId("ses", 1))).tools();
    expect(tools).toEqual(expect.arrayContaining(["mark", "aegis_task_status"]));
  }
});

it("a queue with rights: own gives its agent's rights to tasks of the producers it names, and takes no others", {
  tags: "slow",
}, async () => {
  const { project, daemon } = shared;
  const limited = await seated(project, daemon, "limited", "not-named");
  const refused = await limited.call("aegis_enqueue", { queue: "wide", payload: "hold never" });
  expect(refused).toMatchObject({ isError: true });
  expect(refused.text).toContain('queue "wide" accepts no tasks from the agent "limited"');
  const named = await seated(project, daemon, "named", "named");
  await named.call("aegis_enqueue", { queue: "wide", payload: "hold wide-worker" });
  const worker = await takeSeat(project, daemon, "wide-worker", newId("ses", 1));
  expect(await worker.tools()).toEqual(expect.arrayContaining(["mark", "aegis_task_status"]));

  // An agent that lets a named agent work for it gets no more rights than it has itself.
  await limited.call("aegis_spawn", { agent: "named", prompt: "hold go-between" });
  const between = await takeSeat(project, daemon, "go-between", newId("ses", 1));
  await between.call("aegis_enqueue", { queue: "wide", payload: "hold wide-second" });
  const second = await takeSeat(project, daemon, "wide-second", newId("ses", 1));
  const tools = await second.tools();
  expect(tools).not.toContain("mark");
  expect(tools).not.toContain("aegis_task_status");
});

it("the commands of a run are not run for an agent that may run none", async () => {
  const { daemon } = shared;
  const { client } = daemon;
  const reader = await createSession(client, { agent: "reader" });
  const start = (more: { host?: string; within?: RunId }) =>
    client.call("startRun", { path: { workflow: "pass_on" }, body: { args: { how: "bash", place: "-" }, ...more } });
  const outcome = async (run: RunId) => {
    await waitUntil("it is over", async () => {
      const { run: now } = await client.call("getRun", { path: { run } });
      return now.status !== "running";
    });
    return (await client.call("getRun", { path: { run } })).run;
  };
  expect(await outcome((await start({})).run.id)).toMatchObject({ status: "ok", result: "ran\n" });
  const { run } = await start({ host: reader.id });
  const message =
    'the agent "reader" may not run commands (the tool bash): its permission is read, the tool needs write';
  expect(await outcome(run.id)).toMatchObject({ status: "error", error: { message } });
  // Neither a run that this one starts nor a copy of it has more.
  expect(await outcome((await start({ within: run.id })).run.id)).toMatchObject({
    status: "error",
    error: { message },
  });
  const { run: copy } = await client.call("forkRun", { path: { run: run.id }, body: {} });
  expect(await outcome(copy.id)).toMatchObject({ status: "error", error: { message } });
});

it("the commands of a run that an agent starts ask a person where the agent's own commands would", async () => {
  const { project, daemon } = shared;
  const { client } = daemon;
  const caller = await seated(project, daemon, "limited", "commander");
  const start = async () => {
    const { text } = await caller.call("aegis_run_workflow", {
      name: "pass_on",
      kwargs: { how: "bash", place: "-" },
    });
    return (JSON.parse(text) as { workflow_id: string }).workflow_id;
  };
  const answered = async (run: string, choice: "allow" | "deny") => {
    const asks = async () => (await client.call("listAsks", { query: { status: "open" } })).asks;
    await waitUntil("a person is asked", async () => (await asks()).some((ask) => ask.tool === "bash"));
    const ask = (await asks()).find(({ tool }) => tool === "bash");
    if (ask === undefined) throw new Error("nobody was asked");
    expect(ask.question).toContain('the workflow "pass_on", which limited started, runs:');
    expect(ask.detail).toMatchObject({ command: expect.stringContaining("echo ran") });
    await client.call("answerAsk", { path: { ask: ask.id }, body: { choice, digest: ask.digest } });
    await waitUntil("the run is over", async () => {
      return (await client.call("getRun", { path: { run } })).run.status !== "running";
    });
    return (await client.call("getRun", { path: { run } })).run;
  };
  expect(await answered(await start(), "deny")).toMatchObject({
    status: "error",
    error: { message: expect.stringContaining("was not approved") },
  });
  expect(await answered(await start(), "allow")).toMatchObject({ status: "ok", result: "ran\n" });
});

it("a run of an agent closes no session of others", async () => {
  const { project, daemon } = shared;
  const stranger = await createSession(daemon.client, { agent: "strong", handle: "calm-stranger" });
  const caller = await seated(project, daemon, "limited", "closer");
  const { text } = await caller.call("aegis_run_workflow", {
    name: "pass_on",
    kwargs: { how: "close", place: stranger.handle },
  });
  const { workflow_id: run } = JSON.parse(text) as { workflow_id: string };
  await waitUntil("it is over", async () => {
    return (await daemon.client.call("getRun", { path: { run } })).run.status !== "running";
  });
  const { run: ended } = await daemon.client.call("getRun", { path: { run } });
  expect(ended.error?.message).toContain("cannot close calm-stranger: neither you nor your tree started");
});

it("a tool, hook or command of a plugin gets nothing that starts sessions, tasks or runs", async () => {
  const { project, daemon } = shared;
  const { client } = daemon;
  const counts = async () => ({
    sessions: (await client.call("listSessions", { query: { closed: true } })).sessions.length,
    tasks: (await client.call("listTasks")).tasks.length,
    runs: (await client.call("listRuns")).runs.length,
  });
  const caller = await seated(project, daemon, "reader", "plugin-reach");
  const before = await counts();
  const { text, isError } = await caller.call("reach", {});
  expect({ isError, ...(JSON.parse(text) as object) }).toEqual({
    isError: false,
    tool: ["log"],
    hook: ["log"],
    // Each only describes a part of the plugin, reads a text, or is a type of error.
    module: [
      "ChannelError",
      "PredicateFailed",
      "WorkflowError",
      "agent",
      "channel",
      "command",
      "hook",
      "isWorkflow",
      "parseMessage",
      "reducer",
      "skill",
      "tool",
      "workflow",
    ],
    variables: [],
  });
  const outcome = await client.call("runCommand", { path: { command: "begin" }, body: { session: caller.session } });
  expect(outcome).toMatchObject({ text: "log" });
  expect(await counts()).toEqual(before);
});
