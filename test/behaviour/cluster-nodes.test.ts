// @module-tag slow
/** Three nodes on one PostgreSQL database, driven through the built command of each. */

import type { NodeView } from "@aegis/contract/node.ts";
import type { TaskView } from "@aegis/contract/task.ts";
import { describe, expect, it } from "vitest";
import { noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { type ClusterNode, openGate, sessionsAt, startNodes } from "../helpers/nodes.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const files = {
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted, playbook: playbook.yaml }
queues:
  work: { agent: dev, max_parallel: 3 }
`,
  "playbook.yaml": `
rules:
  - name: hand off
    when: '/^pass (\\S+) (.+)/'
    steps: [{ tool: aegis_handoff, input: { target_handle: "{1}", context: "{2}" } }, { say: "passed to {1}" }]
  - name: hold
    when: '/hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: ask
    when: '/^may (\\S+)/'
    steps: [{ ask: "May I {1}?", tool: "{1}", save: verdict }, { say: "it was {verdict}" }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`,
};

async function stateOf(node: ClusterNode, handle: string): Promise<string | undefined> {
  return (await sessionsAt(node)).find((session) => session.handle === handle)?.state;
}

const historyOf = async (node: ClusterNode, handle: string) => (await node.aegis("history", handle)).stdout;

describe.skipIf(noPostgres !== null)("three nodes", { timeout: scaled(120_000) }, () => {
  const postgres = filePostgres();

  it("work as one: every command reaches a session of another node", async () => {
    const nodes = await startNodes(postgres.url, files, ["one", "two", "three"]);
    const [one, two, three] = nodes as [ClusterNode, ClusterNode, ClusterNode];
    expect((await one.aegis("spawn", "--handle", "ada", "-m", "hello")).code).toBe(0);
    expect((await two.aegis("spawn", "--handle", "bob")).code).toBe(0);

    // Messages: from a person at a third node, and from an agent of another node.
    expect((await three.aegis("send", "ada", "from three", "--wait")).stdout).toContain("you said: from three");
    expect((await one.aegis("send", "ada", "pass bob look at this", "--wait")).stdout).toContain("passed to bob");
    await waitUntil("bob has answered", async () => (await historyOf(three, "bob")).includes("you said:"));
    expect(await historyOf(one, "bob")).toContain("look at this");

    // Interrupt.
    expect((await two.aegis("send", "ada", "hold a")).code).toBe(0);
    await waitUntil("ada is at work", async () => (await stateOf(three, "ada")) === "working");
    await waitUntil("ada holds", async () => (await historyOf(two, "ada")).includes("holding a"));
    expect((await three.aegis("interrupt", "ada")).code).toBe(0);
    expect(await stateOf(two, "ada")).toBe("ready");

    // An answer.
    const asking = three.start("send", "ada", "may dance", "--wait");
    let ask = "";
    await waitUntil("ada asks", async () => {
      ask = (await two.json<{ asks: { id: string }[] }>("asks")).asks[0]?.id ?? "";
      return ask !== "";
    });
    expect((await two.aegis("answer", ask, "allow")).code).toBe(0);
    expect((await asking.ended).stdout).toContain("it was allowed");

    // The same list everywhere, and who runs where.
    const lists = await Promise.all(nodes.map(async (node) => JSON.stringify(await sessionsAt(node))));
    expect(new Set(lists).size).toBe(1);
    expect((await three.aegis("ps")).stdout).toMatch(/TITLE +AGENT +NODE/);
    const rows = (await sessionsAt(two)).map(({ handle, node }) => [handle, node]);
    expect(Object.fromEntries(rows)).toMatchObject({ ada: "one", bob: "two" });
    const { nodes: views } = await three.json<{ nodes: NodeView[] }>("nodes");
    expect(views.map(({ name, state, here, drifted }) => [name, state, here, drifted])).toEqual([
      ["one", "up", false, false],
      ["three", "up", true, false],
      ["two", "up", false, false],
    ]);
    expect((await one.aegis("nodes")).stdout).toMatch(/one \* +up/);

    // Close, in the middle of a turn.
    expect((await two.aegis("send", "ada", "hold b")).code).toBe(0);
    await waitUntil("ada holds again", async () => (await historyOf(two, "ada")).includes("holding b"));
    expect((await three.aegis("close", "ada")).code).toBe(0);
    await waitUntil("its turn has ended", async () => {
      const { events } = await one.json<{ events: { type: string }[] }>("history", "ada", "-n", "500");
      const count = (type: string) => events.filter((event) => event.type === type).length;
      return count("turn.started") > 0 && count("turn.started") === count("turn.ended");
    });

    // One queue, served by all nodes and never above its limit.
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1) {
      const node = nodes[index % 3] as ClusterNode;
      ids.push((await node.json<{ task: TaskView }>("queue", "enqueue", "work", `hold q${index}`)).task.id);
    }
    const tasks = async () => (await two.json<{ tasks: TaskView[] }>("task", "list", "--queue", "work")).tasks;
    const running = (all: readonly TaskView[]) => all.filter(({ status }) => status === "dispatched").length;
    let most = 0;
    const opened = new Set<number>();
    await waitUntil(
      "all tasks are done",
      async () => {
        const all = await tasks();
        most = Math.max(most, running(all));
        for (const [index, id] of ids.entries()) {
          if (opened.has(index) || all.find((task) => task.id === id)?.status !== "dispatched") continue;
          opened.add(index);
          await openGate(nodes, `q${index}`);
        }
        return ids.every((id) => all.find((task) => task.id === id)?.status === "completed");
      },
      60_000,
    );
    expect(most).toBeLessThanOrEqual(3);
    expect((await tasks()).every(({ attempts }) => attempts === 1)).toBe(true);

    // Draining moves what is idle.
    expect((await one.aegis("node", "drain", "two")).code).toBe(0);
    await waitUntil("bob has moved", async () => {
      const bob = (await sessionsAt(one)).find(({ handle }) => handle === "bob");
      return bob?.node !== "two";
    });
    expect((await two.aegis("send", "bob", "still there?", "--wait")).stdout).toContain("you said: still there?");
    const refused = await two.aegis("node", "forget", "one");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("only a lost node can be forgotten");
    expect((await two.aegis("node", "drain", "tow")).stderr).toContain("two");
  });
});
