// @module-tag slow
/** Labels of nodes decide where sessions and tasks run. */

import type { SessionView } from "@aegis/contract/session.ts";
import type { TaskView } from "@aegis/contract/task.ts";
import { describe, expect, it } from "vitest";
import { newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { type ClusterNode, sessionsAt, startNodes } from "../helpers/nodes.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const files = {
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted, playbook: playbook.yaml }
  painter: { harness: scripted, playbook: playbook.yaml, nodes: [gpu] }
queues:
  plain: { agent: painter, max_parallel: 2 }
  big: { agent: dev, nodes: [gpu, huge] }
`,
  "playbook.yaml": `
rules:
  - name: use the pool
    when: '/^use (\\S+) for (.+)/s'
    steps: [{ tool: agent, input: { agent_name: "{1}", task_prompt: "{2}" }, save: outcome }, { say: "{outcome}" }]
  - name: delegate
    when: '/^delegate (.+)/'
    steps: [{ tool: sessions_spawn, input: { task: "{1}", label: "sub", agent_id: painter }, save: it }, { say: "{it}" }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`,
};

const nodeOf = async (node: ClusterNode, handle: string) =>
  (await sessionsAt(node)).find((session) => session.handle === handle)?.node;

const taskAt = async (node: ClusterNode, id: string) => (await node.json<{ task: TaskView }>("task", "show", id)).task;

async function kill(node: ClusterNode): Promise<void> {
  process.kill((await node.daemonPid()) ?? 0, "SIGKILL");
}

describe.skipIf(noPostgres !== null)("labels of nodes", { timeout: scaled(120_000) }, () => {
  const postgres = filePostgres();

  it("decide where sessions, subagents and tasks run, and where they go on", async () => {
    const project = newProjectName();
    const start = async (name: string, ...labels: string[]) =>
      (await startNodes(postgres.url, files, [name], { project, labels }))[0] as ClusterNode;
    const one = await start("one");
    const refused = await one.aegis("spawn", "painter", "--handle", "art");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/no node with the label gpu takes work\n.*nodes: one \(no labels\)/);
    const misspelt = await one.aegis("spawn", "--nodes", "oen");
    expect(misspelt.stderr).toContain('no node with the label oen takes work (did you mean "one"?)');
    expect(await sessionsAt(one)).toEqual([]);

    // A task waits for a node, and says so.
    const { task } = await one.json<{ task: TaskView }>("queue", "enqueue", "plain", "paint");
    expect(await taskAt(one, task.id)).toMatchObject({ status: "pending", waits_for: "a node with the label gpu" });
    expect((await one.aegis("task", "show", task.id)).stdout).toContain("waits: a node with the label gpu");

    const two = await start("two", "gpu");
    await waitUntil("the task is done", async () => (await taskAt(one, task.id)).status === "completed");
    expect((await taskAt(one, task.id)).node).toBe("two");
    expect((await one.aegis("task", "list")).stdout).toMatch(/QUEUE +NODE.*\n.*plain +two /);

    // Sessions: by the agent, by a label of the command, by the name of a node.
    expect((await one.aegis("spawn", "painter", "--handle", "art", "-m", "hello")).code).toBe(0);
    expect((await one.aegis("spawn", "dev", "--handle", "named", "--nodes", "two")).code).toBe(0);
    expect((await one.aegis("spawn", "dev", "--handle", "free")).code).toBe(0);
    expect([await nodeOf(one, "art"), await nodeOf(one, "named"), await nodeOf(one, "free")]).toEqual([
      "two",
      "two",
      "one",
    ]);
    expect((await one.aegis("send", "art", "from one", "--wait")).stdout).toContain("you said: from one");
    expect((await one.aegis("send", "free", "use painter for red", "--wait")).stdout).toContain("red");
    expect((await one.aegis("send", "free", "delegate blue", "--wait")).code).toBe(0);
    await waitUntil("its result comes back", async () =>
      JSON.stringify(await one.json("history", "free", "-n", "500")).includes("Result: you said: blue"),
    );
    const painters = (await one.json<{ sessions: SessionView[] }>("ps", "--all")).sessions.filter(
      ({ agent }) => agent === "painter",
    );
    expect(new Set(painters.map(({ node }) => node))).toEqual(new Set(["two"]));
    expect((await one.aegis("tree", "--all")).stdout).toMatch(/AGENT +NODE +RUN/);
    const unknown = await one.aegis("spawn", "dev", "--nodes", "gpu", "huge");
    expect(unknown.stderr).toContain("no node with the labels gpu, huge takes work");

    // Its node is lost: without another such node it waits, and it moves when one joins.
    await kill(two);
    await waitUntil(
      "art is away",
      async () => JSON.stringify(await one.json("history", "art")).includes("on a node with the label gpu"),
      60_000,
    );
    expect((await one.aegis("ps")).stdout).toMatch(/painter .*two \(away\).* art$/m);
    const kept = await one.aegis("node", "forget", "two");
    expect(kept.code).not.toBe(0);
    expect(kept.stderr).toMatch(/no node with the label \w+ takes work for "[\w-]+"\n.*close the session/);
    const waiting = one.start("send", "art", "while away", "--wait");
    const three = await start("three", "gpu", "huge");
    expect((await waiting.ended).stdout).toContain("you said: while away");
    expect([await nodeOf(three, "art"), await nodeOf(three, "named")]).toEqual(["three", "two"]);

    // A third node with the label takes over at once; a node that loses its label gives its sessions away.
    const four = await start("four", "gpu");
    await kill(three);
    await waitUntil("art has moved on", async () => (await nodeOf(one, "art")) === "four", 60_000);
    const five = await start("five", "gpu");
    expect((await four.aegis("node", "drain", "four")).code).toBe(0);
    await waitUntil("art has moved once more", async () => (await nodeOf(five, "art")) === "five");
    expect((await one.aegis("send", "art", "still you?", "--wait")).stdout).toContain("you said: still you?");
  });
});
