// @module-tag slow
/** A daemon that is killed after it handed a message over, with harnesses that restore their conversations or do not. */

import type { Client } from "@aegis/client/client.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { testProject } from "../helpers/project.ts";
import {
  acp,
  acpAgent,
  claude,
  codex,
  type Harness,
  homeOf,
  projectWith,
  works,
} from "../helpers/projects/harnesses.ts";
import { answerTo, createSession, endings, eventsOf, messages, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

/** Kills the daemon while the agent has the message and has said nothing about it. */
async function killedInSilence(harness: Harness, word = "ponder", forget = false) {
  const project = await projectWith(harness);
  const home = homeOf(project);
  const first = await project.start();
  const session = await createSession(first.client);
  expect(await talk(first.client, session.id, "do:reply")).toBe("pong");
  const receipt = await say(first.client, session.id, `do:${word} the work`);
  await waitUntil("the harness has it", async () =>
    (await harness.prompts(home)).some((text) => text.includes("work")),
  );
  if (word === "mutter") await accepted(first.client, session.id, 2);
  await first.kill();
  if (forget) await harness.forget(home);
  await harness.hurry(home);
  const { client } = await project.start();
  return { client, session, receipt, home };
}

async function accepted(client: Client, session: SessionId, count: number): Promise<void> {
  await waitUntil("it is accepted", async () => (await eventsOf(client, "turn.accepted", session)).length === count);
}

describe("a message that the harness has when the daemon is killed before the agent's first word", () => {
  it.each([
    ["ACP, replays", acp(), "went on"],
    ["ACP, can resume as well as load", acp("--resume"), "went on"],
    ["Claude Code", claude, "pong"],
    ["Codex", codex, "pong"],
  ])("is not sent again where the harness's record shows it: %s", async (_, harness, answer) => {
    const { client, session, receipt, home } = await killedInSilence(harness);
    expect(await answerTo(client, receipt)).toBe(answer);
    const prompts = await harness.prompts(home);
    expect(works(prompts)).toHaveLength(1);
    expect(prompts.filter((text) => text.includes("Your last turn was cut"))).toHaveLength(1);
    expect(await endings(client, session.id)).toEqual(["completed", "lost", "completed"]);
    expect((await messages(client, session.id)).map(({ status }) => status)).toEqual(["done", "done"]);
  });

  it.each([
    ["silent when it loads", acp("--silent-load"), "cannot tell whether you received it"],
    ["resumes without a replay", acp("--resume", "--no-load"), "cannot tell whether you received it"],
    ["refuses to load", acp("--stale"), "has no record of it"],
    ["cannot load", acp("--no-load"), "has no record of it"],
  ])("is sent once more and marked where an ACP agent %s", async (_, harness, mark) => {
    const { client, session, receipt, home } = await killedInSilence(harness);
    expect(await answerTo(client, receipt)).toBe("pondered");
    const sent = works(await harness.prompts(home));
    expect(sent).toHaveLength(2);
    expect(sent.filter((text) => text.includes(mark))).toHaveLength(1);
    expect((await eventsOf(client, "message.redelivered", session.id)).map((event) => event.data.message)).toEqual([
      receipt.message,
    ]);
  });

  it.each([
    ["an ACP agent", acp()],
    ["Claude Code", claude],
    ["Codex", codex],
  ])("is sent once more and marked when the history of %s was deleted", async (_, harness) => {
    const { client, receipt, home } = await killedInSilence(harness, "ponder", true);
    expect(await answerTo(client, receipt)).not.toBe("");
    const marked = works(await harness.prompts(home)).filter((text) => text.includes("has no record of it"));
    expect(marked).toHaveLength(1);
  });
});

describe("a message that the agent had begun to answer", () => {
  it.each([
    ["refuses to load", acp("--stale")],
    ["cannot load", acp("--no-load")],
  ])("reaches the new conversation of an agent that %s", async (_, harness) => {
    const { client, receipt, home } = await killedInSilence(harness, "mutter");
    expect(await answerTo(client, receipt)).toBe("well, pondered");
    const sent = works(await harness.prompts(home));
    expect(sent).toHaveLength(2);
    expect(sent.filter((text) => text.includes("has no record of it"))).toHaveLength(1);
  });

  it("is not repeated to an agent that restores it and shows nothing", async () => {
    const { client, receipt, home } = await killedInSilence(acp("--silent-load"), "mutter");
    expect(await answerTo(client, receipt)).toBe("went on");
    expect(works(await acp().prompts(home))).toHaveLength(1);
  });
});

it("a message that the daemon had not written to the harness is sent once, without a mark", async () => {
  const harness = acpAgent();
  const project = await projectWith(harness);
  const first = await project.start();
  const session = await createSession(first.client);
  expect(await talk(first.client, session.id, "do:reply")).toBe("pong");
  await first.kill();
  const second = await project.start();
  const receipt = await say(second.client, session.id, "do:reply the work");
  // A process that was just started is given time to connect to the plane before its first prompt.
  await waitUntil(
    "the turn begins",
    async () => (await eventsOf(second.client, "turn.started", session.id)).length === 2,
  );
  await second.kill();
  expect(works(await harness.prompts(homeOf(project)))).toEqual([]);

  const { client } = await project.start();
  expect(await answerTo(client, receipt)).toBe("pong");
  expect(works(await harness.prompts(homeOf(project)))).toEqual(["do:reply the work"]);
});

it("a workflow gets the answer to its message, also from an agent that lost its conversation", async () => {
  const harness = acp("--no-load");
  const project = await projectWith(harness);
  await project.write(
    ".aegis/plugins/flows.ts",
    `import { workflow } from "aegis";
export const ask = workflow("ask", async (engine) => engine.send(await engine.spawn("dev"), "do:mutter the work"));
`,
  );
  const home = homeOf(project);
  const first = await project.start();
  await waitUntil("the workflow is there", async () =>
    (await first.client.call("listWorkflows")).workflows.some(({ name }) => name === "ask"),
  );
  const { run } = await first.client.call("startRun", { path: { workflow: "ask" }, body: {} });
  await waitUntil("it is accepted", async () => (await eventsOf(first.client, "turn.accepted")).length === 1);
  await first.kill();
  await harness.hurry(home);

  const { client } = await project.start();
  await waitUntil("the run ends", async () => {
    const now = await client.call("getRun", { path: { run: run.id } });
    return now.run.status !== "running";
  });
  expect((await client.call("getRun", { path: { run: run.id } })).run).toMatchObject({
    status: "ok",
    result: "well, pondered",
  });
  expect(works(await harness.prompts(home))).toHaveLength(2);
});

it("work that was handed over reaches the new conversation with its sender", async () => {
  const harness = acp("--no-load");
  const agents = { dev: harness.agent, giver: { harness: "scripted", playbook: "playbook.yaml" } };
  const project = await testProject({
    ".aegis.yaml": `default_agent: dev\nagents: ${JSON.stringify(agents)}\n`,
    "playbook.yaml": `
rules:
  - name: send
    when: '/^send (\\S+)/'
    steps: [{ tool: aegis_handoff, input: { target_handle: "{1}", context: "do:mutter the work" } }]
  - name: anything else
    when: always
    steps: [{ say: "heard: {text}" }]
`,
  });
  const home = homeOf(project);
  const first = await project.start();
  const taker = await createSession(first.client, { agent: "dev", handle: "calm-moore" });
  const giver = await createSession(first.client, { agent: "giver", handle: "keen-planck" });
  await talk(first.client, giver.id, "send calm-moore");
  await accepted(first.client, taker.id, 1);
  await first.kill();
  await harness.hurry(home);

  const { client } = await project.start();
  await waitUntil("it is answered", async () => (await endings(client, taker.id)).at(-1) === "completed");
  // The record of each conversation is a file of its own, in no order.
  expect(works(await harness.prompts(home))).toContainEqual(
    expect.stringMatching(/^> from substrate · \S+\n.*has no record of it.*\n\n> from agent:keen-planck · /),
  );
  const [message] = await messages(client, taker.id);
  expect(message).toMatchObject({ status: "done", sender: { handle: "keen-planck" } });
  expect(await messages(client, taker.id)).toHaveLength(1);
});
