// @module-tag slow
/** A node of a cluster is killed, or frozen for longer than its lease. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { NodeView } from "@aegis/contract/node.ts";
import type { TaskView } from "@aegis/contract/task.ts";
import { describe, expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { clusterFile, databaseVariable, newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { type ClusterNode, openGate, sessionsAt, startNodes, testLease } from "../helpers/nodes.ts";
import { detached, effects, long, untilStatus } from "../helpers/projects/flows.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const files = {
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted, playbook: playbook.yaml }
queues:
  work: { agent: dev, max_parallel: 2, retries: 2 }
`,
  "playbook.yaml": `
rules:
  - name: hold
    when: '/hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`,
  ".aegis/plugins/flows.ts": long,
};

const eventsOf = async (node: ClusterNode, handle: string) =>
  (
    await node.json<{ events: { type: string; at: number; data: Record<string, unknown> }[] }>(
      "history",
      handle,
      "-n",
      "500",
    )
  ).events;

const nodeAt = async (node: ClusterNode, name: string) =>
  (await node.json<{ nodes: NodeView[] }>("nodes")).nodes.find((one) => one.name === name);

describe.skipIf(noPostgres !== null)("a lost node", { timeout: scaled(120_000) }, () => {
  const postgres = filePostgres();

  it("leaves its sessions, tasks and runs to the others", async () => {
    const nodes = await startNodes(postgres.url, files, ["one", "two"]);
    const [one, two] = nodes as [ClusterNode, ClusterNode];
    expect((await one.aegis("spawn", "--handle", "ada", "-m", "hold a")).code).toBe(0);
    expect((await one.aegis("spawn", "--handle", "idle", "-m", "hello")).code).toBe(0);
    const task = (await one.json<{ task: TaskView }>("queue", "enqueue", "work", "hold t")).task.id;
    const run = await detached(one, "long");
    let ask = "";
    await waitUntil("the run asks", async () => {
      ask = (await two.json<{ asks: { id: string }[] }>("asks")).asks[0]?.id ?? "";
      return ask !== "";
    });
    await waitUntil("ada holds", async () => {
      const events = await eventsOf(two, "ada");
      return events.some(({ type, data }) => type === "turn.text" && data.text === "holding a");
    });
    expect((await two.aegis("send", "ada", "second")).code).toBe(0);

    const killedAt = Date.now();
    process.kill((await one.daemonPid()) ?? 0, "SIGKILL");
    await openGate(nodes, "a");
    await openGate(nodes, "t");
    await waitUntil(
      "ada goes on",
      async () => (await sessionsAt(two)).some(({ handle, node }) => handle === "ada" && node === "two"),
      60_000,
    );
    const moved = (await eventsOf(two, "ada")).find(({ type }) => type === "session.moved");
    expect((moved?.at ?? 0) - killedAt).toBeLessThan(testLease().ms + scaled(2_000));
    expect(await nodeAt(two, "one")).toMatchObject({ state: "lost", sessions: 0 });

    // What was cut is answered once more, what waited is answered once, and nothing is answered twice.
    await waitUntil("ada has answered both", async () => {
      const ended = (await eventsOf(two, "ada")).filter(({ type }) => type === "turn.ended");
      return ended.filter(({ data }) => data.reason === "completed").length === 2;
    });
    const ended = (await eventsOf(two, "ada"))
      .filter(({ type }) => type === "turn.ended")
      .map(({ data }) => data.reason);
    expect(ended).toEqual(["lost", "completed", "completed"]);
    expect((await two.aegis("send", "idle", "again", "--wait")).stdout).toContain("you said: again");
    await waitUntil("the task is done", async () => {
      const { tasks } = await two.json<{ tasks: TaskView[] }>("task", "list");
      return tasks.find(({ id }) => id === task)?.status === "completed";
    });
    expect((await two.aegis("answer", ask, "yes")).code).toBe(0);
    await untilStatus(two, run, "ok");
    // The node that is gone did both steps; the other one repeated none of them.
    expect(await effects(one)).toEqual(["first", "second"]);
    await expect(effects(two)).rejects.toThrow();

    // It may come back under its name.
    expect((await one.aegis("up")).code).toBe(0);
    expect(await nodeAt(two, "one")).toMatchObject({ state: "up", incarnation: 2 });
    expect((await one.aegis("send", "ada", "and now?", "--wait")).stdout).toContain("you said: and now?");
    expect((await sessionsAt(one)).find(({ handle }) => handle === "ada")?.node).toBe("two");
  });

  it("that was only frozen is fenced, says so, and joins again", async () => {
    const project = newProjectName();
    const nodes = await startNodes(postgres.url, files, ["one", "two"], { project });
    const [one, two] = nodes as [ClusterNode, ClusterNode];
    expect((await one.aegis("spawn", "--handle", "ada", "-m", "hold z")).code).toBe(0);
    await waitUntil("ada holds", async () => {
      const events = await eventsOf(two, "ada");
      return events.some(({ type, data }) => type === "turn.text" && data.text === "holding z");
    });
    const pid = (await one.daemonPid()) ?? 0;
    process.kill(pid, "SIGSTOP");
    try {
      await waitUntil(
        "ada has moved",
        async () => (await sessionsAt(two)).some(({ handle, node }) => handle === "ada" && node === "two"),
        60_000,
      );
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await waitUntil(
      "it has joined again",
      async () => {
        const view = await nodeAt(two, "one");
        return view?.state === "up" && view.incarnation === 2;
      },
      60_000,
    );
    const log = await readFile(join(one.root, ".aegis", "state", "daemon.log"), "utf8");
    expect(log).toMatch(/node \\?"one\\?" is fenced/);
    await openGate(nodes, "z");
    await waitUntil("ada has answered", async () => {
      const ended = (await eventsOf(two, "ada")).filter(({ type }) => type === "turn.ended");
      return ended.at(-1)?.data.reason === "completed";
    });
    const reasons = (await eventsOf(two, "ada"))
      .filter(({ type }) => type === "turn.ended")
      .map(({ data }) => data.reason);
    expect(reasons).toEqual(["lost", "completed"]);
    expect((await one.aegis("send", "ada", "hello", "--wait")).stdout).toContain("you said: hello");

    // A node of another folder cannot take a name that is alive.
    const twin = await aegisProject({ ...files, ...clusterFile(project, { node: "two" }) });
    twin.env[databaseVariable] = postgres.url;
    const refused = await twin.aegis("up");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('a node "two" is alive in this cluster');
  });
});
