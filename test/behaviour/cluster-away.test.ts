// @module-tag slow
/** Sessions whose memory is on the machine of a lost node: they wait for it, or go on without their memory. */
import { fileURLToPath } from "node:url";
import type { NodeView } from "@aegis/contract/node.ts";
import { describe, expect, it } from "vitest";
import { noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { type ClusterNode, sessionsAt, startNodes } from "../helpers/nodes.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const fixture = fileURLToPath(new URL("../fixtures/bin/acp-agent.mjs", import.meta.url));
const files = {
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted, playbook: playbook.yaml }
  cli: { harness: acp, options: { command: ${JSON.stringify([process.execPath, fixture])} } }
`,
  "playbook.yaml": `
rules:
  - name: hand off
    when: '/^pass (\\S+) (.+)/'
    steps: [{ tool: aegis_handoff, input: { target_handle: "{1}", context: "{2}" } }, { say: "passed to {1}" }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`,
};

const historyOf = async (node: ClusterNode, handle: string) => (await node.aegis("history", handle)).stdout;

/** How many prompts the conversation of the agent holds, with this one. */
async function remembered(node: ClusterNode, handle: string): Promise<number> {
  const { stdout, stderr } = await node.aegis("send", handle, "do:recall", "--wait");
  expect(stdout, stderr).toMatch(/prompts: \d+/);
  return Number(/prompts: (\d+)/.exec(stdout)?.[1]);
}

const views = async (node: ClusterNode) => (await node.json<{ nodes: NodeView[] }>("nodes")).nodes;

async function kill(node: ClusterNode): Promise<void> {
  const pid = await node.daemonPid();
  if (pid === null) throw new Error("unreachable: the daemon runs");
  process.kill(pid, "SIGKILL");
}

describe.skipIf(noPostgres !== null)("a session with its memory on a lost node", { timeout: scaled(120_000) }, () => {
  const postgres = filePostgres();

  it("waits for its node, and everyone who waits for it is told", async () => {
    const [one, two] = (await startNodes(postgres.url, files, ["one", "two"])) as [ClusterNode, ClusterNode];
    expect((await one.aegis("spawn", "cli", "--handle", "far")).code).toBe(0);
    expect((await two.aegis("spawn", "dev", "--handle", "bob")).code).toBe(0);
    expect(await remembered(two, "far")).toBe(1);
    expect((await two.aegis("send", "bob", "pass far do:hang", "--wait")).stdout).toContain("passed to far");
    await waitUntil("far works", async () =>
      (await sessionsAt(two)).some(({ handle, state }) => handle === "far" && state === "working"),
    );
    const waiting = two.start("send", "far", "do:recall", "--wait");
    await waitUntil("the message waits", () => waiting.output.stderr.includes("queued for far"));

    await kill(one);
    await waitUntil(
      "the person is told",
      () => waiting.output.stderr.includes("node one is lost: far is away"),
      60_000,
    );
    // As JSON: the text for people is wrapped.
    await waitUntil("the agent is told", async () => {
      const history = JSON.stringify(await two.json("history", "bob", "-n", "500"));
      return history.includes("waits: node one is lost");
    });
    expect((await two.aegis("ps")).stdout).toMatch(/cli.* +one \(away\) .*far$/m);
    const sent = await two.aegis("send", "far", "do:recall");
    expect(sent.stdout).toContain("node one is away, and the message waits until it is back");

    // Its node comes back, and with it the memory.
    expect((await one.aegis("up")).code).toBe(0);
    expect((await waiting.ended).code).toBe(0);
    expect(await remembered(two, "far")).toBeGreaterThan(2);
    expect((await sessionsAt(two)).find(({ handle }) => handle === "far")?.node).toBe("one");

    // It is lost again, and a person does not expect it back.
    await kill(one);
    let forgotten = "";
    await waitUntil(
      "the lost node is forgotten",
      async () => {
        const { code, stdout } = await two.aegis("node", "forget", "one");
        forgotten = stdout;
        return code === 0;
      },
      60_000,
    );
    expect(forgotten).toContain("one was forgotten; 1 session moved to this node");
    expect((await views(two)).map(({ name }) => name)).toEqual(["two"]);
    expect(await remembered(two, "far")).toBe(1);
    expect(await historyOf(two, "far")).toContain("node one did not come back");
  });

  it("goes on elsewhere in a new conversation after give_up", async () => {
    const nodes = await startNodes(postgres.url, files, ["one", "two"], { give_up: "1s" });
    const [one, two] = nodes as [ClusterNode, ClusterNode];
    expect((await one.aegis("spawn", "cli", "--handle", "far")).code).toBe(0);
    expect(await remembered(two, "far")).toBe(1);
    expect(await remembered(two, "far")).toBe(2);
    await kill(one);
    await waitUntil(
      "far has moved",
      async () => (await sessionsAt(two)).find(({ handle }) => handle === "far")?.node === "two",
      60_000,
    );
    expect(await remembered(two, "far")).toBe(1);
    const history = await historyOf(two, "far");
    expect(history).toContain("node one is lost: far is away");
    expect(history).toContain("node one did not come back: the session continues on node two in a new conversation");
  });
});
