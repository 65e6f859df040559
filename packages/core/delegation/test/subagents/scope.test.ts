/** An agent that is held to some tools does not get at others by having somebody else work for it. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@aegis/contract/agent.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import type { Engine } from "@aegis/plugin-api/workflow-context.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { type Forest, forest } from "./forest.ts";

const starting = ["sessions_spawn", "aegis_spawn", "agent", "aegis_group_spawn", "aegis_run_workflow", "load_skill"];
const held: Agent = { ...offlineAgent, slug: "held", ref: "held", tools: ["aegis_meta", ...starting] };
const strong: Agent = { ...offlineAgent, slug: "strong", ref: "strong", permission: "full" };

const ways = {
  "a subagent": async (f: Forest, root: SessionId) => {
    await f.spawn(root, { agent_id: "strong" });
  },
  "the pool": async (f: Forest, root: SessionId) => {
    void f.call(root, "agent", { agent_name: "strong", task_prompt: "do it" });
  },
  "a peer": async (f: Forest, root: SessionId) => {
    await f.call(root, "aegis_spawn", { agent: "strong", prompt: "do it" });
  },
  "a group": async (f: Forest, root: SessionId) => {
    await f.call(root, "aegis_group_spawn", { group: "crew", profiles: ["strong"], handle: "crew-member" });
    const { id } = await f.runtime.sessions.resolve("crew-member");
    await f.runtime.inbox.admit({ session: id, sender: { kind: "human" }, body: "go" });
  },
  "a workflow": async (f: Forest, root: SessionId) => {
    await f.runtime.workflows.launch();
    f.runtime.workflows.add(
      workflow("start", {}, async (engine) => (engine as Engine).send(await (engine as Engine).spawn("strong"), "go")),
      "a test",
    );
    await f.runtime.workflows.start({ workflow: "start", host: root, callback: false });
  },
  "a skill": async (f: Forest, root: SessionId) => {
    const outcome = await f.call(root, "load_skill", { name: "elsewhere" });
    expect(outcome).toMatchObject({ is_error: false });
  },
};

const skill =
  "---\nname: elsewhere\ndescription: d\ncontext: fork\nagent: strong\nallowed-tools: '*'\n---\nClose all.\n";

/** A session of `held`, and what its helper of the agent `strong` has. */
async function startedBy(agent: Agent, start: (f: Forest, root: SessionId) => Promise<void>) {
  const f = await forest();
  await mkdir(join(f.dir, ".aegis/skills"), { recursive: true });
  await writeFile(join(f.dir, ".aegis/skills/elsewhere.md"), skill);
  f.runtime.agents.replace([offlineAgent, agent, strong], { slug: agent.slug, why: "a test" });
  const root = await f.root();
  await start(f, root);
  const found = () => f.driver.turns.find((turn) => turn.spec.agent.slug === "strong");
  await waitUntil("it has begun", () => found() !== undefined);
  const turn = found();
  if (turn === undefined) throw new Error("unreachable: the wait ends with its turn");
  const { tools } = turn.spec.host;
  return {
    agent: turn.spec.agent,
    names: (await tools.list()).map((tool) => tool.name),
    close: await tools.call("aegis_close", { target_handle: "x" }, { key: "close", signal: turn.signal }),
  };
}

describe.each(Object.entries(ways))("through %s", (_, start) => {
  it("it gets no tool that its own list does not name", async () => {
    const { names, close } = await startedBy(held, start);
    expect(names).toContain("aegis_meta");
    expect(names.filter((name) => !held.tools?.includes(name))).toEqual([]);
    expect(JSON.parse(close.output)).toMatchObject({
      error: expect.stringMatching(
        /^Tool 'aegis_close' is not available to agent 'strong': the tools of the agent that/,
      ),
      error_type: "permission_error",
    });
  });
});

it.each([
  ["may only read", { permission: "read" as const }, /its permission is read/],
  ["is denied commands", { deny_tools: ["Bash"] }, /it can do what its deny_tools name \(Bash\)/],
])("an agent that %s runs no commands through a workflow", async (_, more, why) => {
  const f = await forest();
  const careful: Agent = { ...offlineAgent, slug: "careful", ref: "careful", ...more };
  f.runtime.agents.replace([offlineAgent, careful], { slug: "careful", why: "a test" });
  const root = await f.root();
  const { tools } = (await f.turnOf(root)).spec.host;
  expect((await tools.list()).map((tool) => tool.name)).not.toContain("aegis_run_workflow");
  const kwargs = { feature: "x", test_path: "x", test_command: "touch ran" };
  const outcome = await f.call(root, "aegis_run_workflow", { name: "tdd_cycle", kwargs });
  expect(outcome).toMatchObject({ is_error: true, output: expect.stringMatching(why) });
});

it("who is meant to have an agent for what it cannot do itself names it in allow_agents", async () => {
  const chief = { ...held, subagents: { allow_agents: ["strong"] } };
  const { names, agent } = await startedBy(chief, ways["a subagent"]);
  expect(names).toContain("aegis_close");
  expect(agent.within).toBeUndefined();
});

it("the list is passed on by those in between, who have none of their own", async () => {
  const { agent } = await startedBy(held, async (f, root) => {
    const middle = await f.spawn(root, { agent_id: offlineAgent.slug });
    await f.spawn(middle.session, { agent_id: "strong" });
  });
  expect(agent.within).toEqual([held.tools]);
});
