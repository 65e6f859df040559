/** How agents have others work for them: side by side, within what is allowed, and until the call is cancelled. */
import { expect, it } from "vitest";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { type FakeRequest, fakeModels } from "../helpers/fake-models/server.ts";
import type { Reply } from "../helpers/fake-models/wire.ts";
import { readPlace } from "../helpers/plane-agent.ts";
import { testProject } from "../helpers/project.ts";
import { remoteAgent, seated } from "../helpers/projects/rights.ts";
import { answerTo, createSession, endings, eventsOf, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const playbook = `
rules:
  - name: hold
    when: '/^Execute this task: hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - { name: anything else, when: always, steps: [{ say: "you said: {text}" }] }
`;

/** Has two helpers work at once, then says what both answered. */
function delegate({ transcript }: FakeRequest): Reply {
  const results = transcript.filter((line) => line.startsWith("result:"));
  if (results.length > 0) return { text: results.join(" and ") };
  const call = (name: string) => ({
    id: `call-${name}`,
    name: "agent",
    input: { agent_name: "helper", task_prompt: `hold ${name}` },
  });
  return { calls: [call("one"), call("two")] };
}

it("agent calls of one answer of a native agent run side by side", async () => {
  const models = await fakeModels(openaiChatWire, delegate);
  const agents = "helper: { harness: scripted, playbook: playbook.yaml }";
  const config = nativeConfig(models).replace("agents: {", `agents: { ${agents},`);
  const project = await testProject({ ".aegis.yaml": config, "playbook.yaml": playbook });
  const { client } = await project.start();
  const { id } = await createSession(client);
  const receipt = await say(client, id, "go");
  const said = async (text: string) => (await eventsOf(client, "turn.text")).some(({ data }) => data.text === text);
  await waitUntil("both helpers are at work", async () => (await said("holding one")) && (await said("holding two")));
  // The second ends first; the model reads the results in the order of its calls.
  await project.open("two");
  await waitUntil("the second has ended", () => said("released two"));
  await project.open("one");
  expect(await answerTo(client, receipt)).toMatch(/released one.* and .*released two/s);
});

it("subagents.enabled: false hides the tools of subagents and of the pool", { tags: "slow" }, async () => {
  const config = (enabled: boolean) =>
    `agents:\n${remoteAgent("root", "permission: full")}subagents: { enabled: ${enabled} }\n`;
  const project = await testProject({ ".aegis.yaml": config(false) });
  const daemon = await project.start();
  const root = await seated(project, daemon, "root", "root");
  const hidden = ["agent", "agent_ask", "sessions_spawn", "sessions_send", "sessions_list", "sessions_kill"];
  const tools = await root.tools();
  expect(tools.filter((name) => hidden.includes(name))).toEqual([]);
  expect(tools).toContain("aegis_list_sessions");
  for (const tool of hidden) expect((await root.call(tool, {})).text).toContain("subagents are disabled here");
  const { agent } = await daemon.client.call("getAgent", { path: { agent: "root" } });
  expect(agent.tools.find(({ name }) => name === "agent")).toMatchObject({ allowed: false });
});

it("a call that its MCP client cancels is given up, and what it had started is cut", { tags: "slow" }, async () => {
  const project = await testProject({
    ".aegis.yaml": `agents:\n${remoteAgent("root", "permission: full")}  helper: { harness: scripted, playbook: playbook.yaml }\n`,
    "playbook.yaml": playbook,
  });
  const daemon = await project.start();
  await seated(project, daemon, "root", "root");
  const { authorization } = await readPlace(project.dir, "root");
  const post = (body: object) =>
    fetch(`${daemon.file.url}/mcp`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    });
  const input = { agent_name: "helper", task_prompt: "hold never" };
  const calling = post({ id: "call-7", method: "tools/call", params: { name: "agent", arguments: input } });
  const texts = async () => eventsOf(daemon.client, "turn.text");
  await waitUntil("the helper is at work", async () =>
    (await texts()).some(({ data }) => data.text === "holding never"),
  );
  const [helper] = (await texts()).map(({ session }) => session);
  // One that names another call changes nothing.
  await post({ method: "notifications/cancelled", params: { requestId: "call-8" } });
  const cancelled = await post({
    method: "notifications/cancelled",
    params: { requestId: "call-7", reason: "enough" },
  });
  expect(cancelled.ok).toBe(true);
  const answer = await (await calling).text();
  expect(answer).toContain('"isError":true');
  if (helper === null || helper === undefined) throw new Error("unreachable: it has said something");
  await waitUntil("its turn is cut", async () => (await endings(daemon.client, helper))[0] === "cancelled");
});

/** An ACP agent that connects to its MCP servers only when a prompt asks for it. */
const lazyAgent = `
import { createInterface } from "node:readline";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
let server = null;
const methods = {
  initialize: async () => ({ protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } }),
  "session/new": async ({ mcpServers }) => {
    server = mcpServers[0];
    return { sessionId: "only" };
  },
  "session/prompt": async ({ prompt }) => {
    if (prompt.some(({ text }) => text.includes("connect"))) {
      const own = Object.fromEntries(server.headers.map(({ name, value }) => [name, value]));
      const headers = { ...own, "content-type": "application/json", accept: "application/json, text/event-stream" };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
      await fetch(server.url, { method: "POST", headers, body });
    }
    const content = { type: "text", text: "done" };
    send({ method: "session/update", params: { sessionId: "only", update: { sessionUpdate: "agent_message_chunk", content } } });
    return { stopReason: "end_turn" };
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (methods[method] === undefined) send({ id, error: { code: -32601, message: "no " + method } });
  else methods[method](params).then((result) => send({ id, result }));
}
`;

it("an ACP agent that connects late is not waited for, and is not said to be cut off from its peers", {
  tags: "slow",
}, async () => {
  const command = JSON.stringify([process.execPath, "lazy.mjs"]);
  const project = await testProject({
    ".aegis.yaml": `agents: { lazy: { harness: acp, options: { command: ${command} } } }\n`,
    "lazy.mjs": lazyAgent,
  });
  const { client } = await project.start();
  const { id } = await createSession(client, { agent: "lazy" });
  expect(await talk(client, id, "hello")).toBe("done");
  expect(await talk(client, id, "connect")).toBe("done");
  const { turns } = await client.call("listTurns", { path: { session: id } });
  const first = turns.at(-1);
  expect((first?.ended_at ?? Number.POSITIVE_INFINITY) - (first?.started_at ?? 0)).toBeLessThan(2_900);
  expect(await eventsOf(client, "turn.notice", id)).toEqual([]);
});
