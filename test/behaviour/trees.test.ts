/** Everything that the members of a tree start, in every way, counts in its depth, its children and its budget. */

import { newId } from "@aegis/contract/ids.ts";
import { expect, it } from "vitest";
import { type Project, testProject } from "../helpers/project.ts";
import { remoteAgent, type Seat, seated, sessionOf, takeSeat } from "../helpers/projects/rights.ts";
import { createSession } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

/** `quiet` answers at once and stays open; `root` and `member` are the test's. */
function project(subagents: string): Promise<Project> {
  return testProject({
    ".aegis.yaml": `default_agent: quiet
agents:
  quiet: { harness: scripted, playbook: playbook.yaml }
${remoteAgent("root", "permission: full")}${remoteAgent("member", "permission: full")}queues:
  line: { agent: quiet, max_parallel: 50 }
  seats: { agent: member, max_parallel: 50 }
subagents: { ${subagents} }
`,
    "playbook.yaml": `
rules:
  - { name: hold, when: '/^hold (\\S+)/', steps: [{ wait: { gate: "gates/{1}" } }, { say: "released {1}" }] }
  - { name: anything else, when: always, steps: [{ say: "you said: {text}" }] }
`,
  });
}

const spawn = (seat: Seat, prompt = "hello") => seat.call("aegis_spawn", { agent: "quiet", prompt });

it("of 26 peers that are started at once under a budget of 20, 20 start", { tags: "slow" }, async () => {
  const here = await project("max_children: 100, budget: { agents: 20 }");
  const daemon = await here.start();
  const root = await seated(here, daemon, "root", "root");
  const outcomes = await Promise.all(Array.from({ length: 26 }, () => spawn(root)));
  const refused = outcomes.filter(({ isError }) => isError);
  expect(refused).toHaveLength(6);
  for (const { text } of refused) expect(text).toContain("used up its budget: 20 of 20 agents at work");
  const { sessions } = await daemon.client.call("listSessions", {});
  expect(sessions).toHaveLength(21);
  const { trees } = await daemon.client.call("listTrees", {});
  expect(trees).toEqual([expect.objectContaining({ root: root.session, live: 20, spawned: 20 })]);

  // A peer that is closed makes room; a person begins a tree of their own at any time.
  const [peer] = outcomes.filter(({ isError }) => !isError).map(({ text }) => JSON.parse(text).handle as string);
  await waitUntil("the peer is no longer at work and can be closed", async () =>
    (await root.call("aegis_close", { handle: peer })).text.includes('"closed":true'),
  );
  expect(await spawn(root)).toMatchObject({ isError: false });
  expect(await spawn(root)).toMatchObject({ isError: true });
  await createSession(daemon.client, { agent: "quiet" });
});

it("every way to start a session takes a place of the one budget", { tags: "slow" }, async () => {
  const here = await project("max_children: 100, budget: { agents: 6, spawns: 7 }");
  const daemon = await here.start();
  const root = await seated(here, daemon, "root", "root");
  await root.call("aegis_spawn", { agent: "member", prompt: "hold peer" });
  await root.call("sessions_spawn", { agent_id: "quiet", task: "hold never" });
  await root.call("aegis_group_spawn", { group: "crew", profiles: ["quiet"] });
  await root.call("aegis_enqueue", { queue: "line", payload: "hold never" });
  void root.call("agent", { agent_name: "member", task_prompt: "x\nhold pooled" }).catch(() => {});
  const peer = await takeSeat(here, daemon, "peer", newId("ses", 1));
  await takeSeat(here, daemon, "pooled", newId("ses", 1));
  // What a peer starts is the tree's as well.
  expect(await spawn(peer)).toMatchObject({ isError: false });
  const tree = async () => (await daemon.client.call("listTrees", {})).trees;
  await waitUntil("all have their places", async () => (await tree())[0]?.live === 6);
  const full = expect.stringContaining("6 of 6 agents at work");
  for (const seat of [root, peer]) {
    expect(await spawn(seat)).toEqual({ isError: true, text: full });
    expect(await seat.call("sessions_spawn", { agent_id: "quiet", task: "x" })).toEqual({ isError: true, text: full });
    const group = { group: "more", profiles: ["quiet"] };
    expect(await seat.call("aegis_group_spawn", group)).toEqual({ isError: true, text: full });
    const delegated = await seat.call("aegis_delegate", { queue: "line", payload: "x" });
    expect(delegated).toEqual({ isError: true, text: full });
    expect((await seat.call("agent", { agent_name: "quiet", task_prompt: "x" })).text).toContain("6 of 6");
  }
  // A task may wait until there is room. It has a claim on the last agent that may ever be started.
  const { task_id } = JSON.parse((await root.call("aegis_enqueue", { queue: "line", payload: "late" })).text);
  expect((await root.call("aegis_enqueue", { queue: "line", payload: "later" })).text).toContain(
    "7 of 7 agents that are open, wait or were started",
  );
  const task = async () => (await daemon.client.call("getTask", { path: { task: task_id } })).task;
  expect(await task()).toMatchObject({ status: "pending", waits_for: expect.stringContaining("6 of 6") });
  const { group } = await daemon.client.call("getGroup", { path: { group: "crew" } });
  await root.call("aegis_close", { handle: group.members[0]?.handle });
  await waitUntil("the task is done", async () => (await task()).status === "completed");
  expect(await tree()).toEqual([expect.objectContaining({ spawned: 7 })]);
});

it("peers, workers and members of groups stand one deeper than their starter, and count among its children", {
  tags: "slow",
}, async () => {
  const here = await project("max_spawn_depth: 1, max_children: 2");
  const daemon = await here.start();
  const root = await seated(here, daemon, "root", "root");
  await root.call("aegis_spawn", { agent: "member", handle: "deep-peer", prompt: "hold peer" });
  await root.call("aegis_enqueue", { queue: "seats", payload: "hold worker" });
  for (const place of ["peer", "worker"]) {
    const seat = await takeSeat(here, daemon, place, newId("ses", 1));
    const deep = "you are at depth 1, and agents at depth 1 start no others";
    expect((await seat.call("aegis_enqueue", { queue: "line", payload: "x" })).text).toContain(deep);
    expect((await seat.call("aegis_delegate", { queue: "line", payload: "x" })).text).toContain(deep);
    expect(await seat.tools()).not.toEqual(expect.arrayContaining(["aegis_spawn"]));
    for (const [tool, input] of [
      ["aegis_spawn", { agent: "quiet", prompt: "x" }],
      ["sessions_spawn", { agent_id: "quiet", task: "x" }],
      ["agent", { agent_name: "quiet", task_prompt: "x" }],
      ["aegis_group_spawn", { group: "deep", profiles: ["quiet"] }],
    ] as const) {
      const { text, isError } = await seat.call(tool, input);
      expect(isError).toBe(true);
      expect(JSON.parse(text)).toMatchObject({ error: expect.stringContaining(deep), error_type: "permission_error" });
    }
  }
  expect((await spawn(root)).text).toContain("2 of your subagents are running");
  const { task_id } = JSON.parse((await root.call("aegis_enqueue", { queue: "line", payload: "late" })).text);
  const task = async () => (await daemon.client.call("getTask", { path: { task: task_id } })).task;
  expect(await task()).toMatchObject({ status: "pending" });
  await daemon.client.call("closeSession", { path: { session: await sessionOf(daemon.client, "deep-peer") } });
  await waitUntil("the task is done", async () => (await task()).status === "completed");
});

it("a tree outlives the daemon: what was started before a crash still counts", { tags: "slow" }, async () => {
  const here = await project("max_children: 100, budget: { agents: 3 }");
  const first = await here.start();
  const { id } = await createSession(first.client, { agent: "root", prompt: "show root" });
  const root = await takeSeat(here, first, "root", id);
  for (let number = 0; number < 3; number++) expect(await spawn(root)).toMatchObject({ isError: false });
  await first.kill();
  const second = await here.start();
  const { trees } = await second.client.call("listTrees", {});
  expect(trees).toEqual([expect.objectContaining({ root: root.session, live: 3 })]);
  await second.client.call("sendMessage", { path: { session: root.session }, body: { text: "hold again" } });
  const again = await takeSeat(here, second, "again", root.session);
  expect((await spawn(again)).text).toContain("3 of 3 agents at work");
});
