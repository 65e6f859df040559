// @module-tag slow
/** An agent whose `on_crash` is `fail`: work that a crash interrupted is reported once to the sender that waits for it, and not repeated. */

import type { Client } from "@aegis/client/client.ts";
import { waitForMessage } from "@aegis/client/wait.ts";
import { expect, it } from "vitest";
import { testProject } from "../helpers/project.ts";
import { acp, homeOf, works } from "../helpers/projects/harnesses.ts";
import { scaled } from "../helpers/slowness.ts";
import { createSession, eventsOf, message, messages, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const harness = acp("--no-load");
const agents = {
  dev: { ...harness.agent, on_crash: "fail" },
  giver: { harness: "scripted", playbook: "playbook.yaml" },
};
const files = {
  ".aegis.yaml": `
default_agent: dev
agents: ${JSON.stringify(agents)}
queues: { line: { agent: dev, retries: 3 } }
`,
  "playbook.yaml": `
rules:
  - name: send
    when: '/^send (\\S+)/'
    steps: [{ tool: aegis_handoff, input: { target_handle: "{1}", context: "do:mutter the work" } }]
  - name: spawn
    when: '/^spawn/'
    steps: [{ tool: sessions_spawn, input: { agent_id: dev, task: "do:mutter the work", label: helper } }]
  - name: anything else
    when: always
    steps: [{ say: "heard: {text}" }]
`,
  ".aegis/plugins/flows.ts": `import { workflow } from "aegis";
export const ask = workflow("ask", async (engine) => {
  try {
    return await engine.send(await engine.spawn("dev"), "do:mutter the work");
  } catch (error) {
    return "told: " + error.message;
  }
});
`,
};

/** The messages from the substrate that an agent got. */
async function told(client: Client, session: string): Promise<string[]> {
  return (await messages(client, session)).filter(({ sender }) => sender.kind === "substrate").map(({ body }) => body);
}

it("tells the sender, the parent, the group, the run and the producer once, also over another crash", {
  timeout: scaled(240_000),
}, async () => {
  const project = await testProject(files);
  const first = await project.start();
  const { client: before } = first;
  await waitUntil("the workflow is there", async () =>
    (await before.call("listWorkflows")).workflows.some(({ name }) => name === "ask"),
  );
  const taker = await createSession(before, { agent: "dev", handle: "calm-moore" });
  const giver = await createSession(before, { agent: "giver", handle: "keen-planck" });
  const parent = await createSession(before, { agent: "giver", handle: "wise-riemann" });
  const own = await createSession(before, { agent: "dev" });
  const receipt = await say(before, own.id, "do:mutter the work");
  await talk(before, giver.id, "send calm-moore");
  await talk(before, parent.id, "spawn");
  await before.call("spawnGroup", { path: { group: "team" }, body: { agents: ["dev"] } });
  const { broadcast } = await before.call("broadcastGroup", {
    path: { group: "team" },
    body: { objective: "do:mutter the work" },
  });
  const { run } = await before.call("startRun", { path: { workflow: "ask" }, body: {} });
  const { task } = await before.call("enqueueTask", {
    path: { queue: "line" },
    body: { payload: "do:mutter the work" },
  });
  await waitUntil("all six are at work", async () => (await eventsOf(before, "turn.accepted")).length >= 6, 60_000);
  await first.kill();
  await harness.hurry(homeOf(project));

  const second = await project.start();
  await waitUntil("one is reported", async () => (await eventsOf(second.client, "message.lost")).length > 0, 60_000);
  await second.kill();

  const { client } = await project.start();
  const outcome = await waitForMessage(client, receipt.message, receipt.session, {
    signal: AbortSignal.timeout(scaled(60_000)),
  });
  expect(outcome.status).toBe("lost");
  await waitUntil("the giver is told", async () => (await told(client, giver.id)).length > 0, 60_000);
  expect(await told(client, giver.id)).toEqual([
    expect.stringMatching(/^Your message msg_\S+ to "calm-moore" was lost: .*on_crash is fail/),
  ]);
  const [handed] = await messages(client, taker.id);
  expect(handed).toMatchObject({ status: "lost" });

  await waitUntil("the subagent has ended", async () => (await eventsOf(client, "subagent.ended")).length > 0, 60_000);
  expect((await eventsOf(client, "subagent.ended")).map(({ data }) => data.status)).toEqual(["error"]);

  const replies = async () => (await client.call("getBroadcast", { path: { broadcast: broadcast.id } })).by_member;
  await waitUntil("the group is settled", async () => Object.values(await replies())[0]?.status === "error", 60_000);

  const runNow = async () => (await client.call("getRun", { path: { run: run.id } })).run;
  await waitUntil("the run ends", async () => (await runNow()).status !== "running", 60_000);
  expect(await runNow()).toMatchObject({ status: "ok", result: expect.stringMatching(/^told: .*lost/) });

  const ended = (await eventsOf(client, "task.ended")).filter(({ data }) => data.task === task.id);
  expect(ended).toMatchObject([{ data: { status: "failed", error: expect.stringContaining("interrupted") } }]);

  // Nothing reached an agent a second time.
  expect(works(await harness.prompts(homeOf(project)))).toHaveLength(6);
  const lost = (await eventsOf(client, "message.lost")).map(({ data }) => data.message);
  expect(new Set(lost).size).toBe(lost.length);
  expect((await message(client, receipt.message)).status).toBe("lost");
});
