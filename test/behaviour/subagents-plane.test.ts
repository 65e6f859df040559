import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { readPlace, withPlaneAgent } from "../helpers/plane-agent.ts";
import { testProject } from "../helpers/project.ts";
import { announcements, delegating, subagent, subagents } from "../helpers/projects/subagents.ts";
import { createSession } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const remote = withPlaneAgent[".aegis.yaml"].split("\n").find((line) => line.includes("remote:"));
const files = {
  ...delegating,
  ".aegis.yaml": delegating[".aegis.yaml"].replace("agents:\n", `agents:\n${remote}\n`),
};

it("an agent over MCP starts subagents as itself, once per call it names, and cannot reach those of others", {
  tags: "slow",
}, async () => {
  const project = await testProject(files);
  const { client, file } = await project.start();
  async function connected(name: string) {
    const session = await createSession(client, { agent: "remote", prompt: `hold ${name}` });
    const { authorization } = await readPlace(project.dir, name);
    const mcp = new McpClient({ name: "test", version: "1.0.0" });
    const url = new URL(`${file.url}/mcp`);
    await mcp.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization } } }));
    onTestFinished(() => mcp.close());
    const call = async (tool: string, input: Record<string, unknown>, id?: string) => {
      const _meta = id === undefined ? {} : { "claudecode/toolUseId": id };
      const { content, isError } = await mcp.callTool({ name: tool, arguments: input, _meta });
      const [first] = content;
      return { text: first?.type === "text" ? first.text : "", isError: isError ?? false };
    };
    return { session, call };
  }
  const me = await connected("me");
  const task = { agent_id: "dev", task: "hold never", label: "mine" };
  const spawned = await me.call("sessions_spawn", task, "call-1");
  expect(spawned.text).toMatch(/^Spawned: [0-9a-f]{12} \(agent: dev, label: mine\)$/);
  expect(await me.call("sessions_spawn", task, "call-1")).toEqual(spawned);
  expect(await subagents(client)).toHaveLength(1);
  const mine = await subagent(client, "mine");
  expect(mine).toMatchObject({ parent: me.session.id, depth: 1 });

  const other = await connected("other");
  for (const [tool, input] of [
    ["sessions_kill", { run_id: mine.run_id }],
    ["sessions_history", { run_id: mine.run_id }],
    ["sessions_send", { run_id_or_label: mine.run_id, message: "stop" }],
  ] as const) {
    expect(await other.call(tool, input)).toMatchObject({
      isError: true,
      text: expect.stringContaining("you have no"),
    });
  }
  expect((await me.call("sessions_list", {})).text).toContain(mine.run_id);
  expect((await other.call("sessions_list", {})).text).not.toContain(mine.run_id);
  expect((await me.call("sessions_kill", { run_id: "mine" })).text).toContain('"killed":1');

  const pooled = await me.call("agent", { agent_name: "helper", task_prompt: "look" });
  expect(JSON.parse(pooled.text)).toMatchObject({ result: "you said: Execute this task: look" });
  await me.call("sessions_spawn", { agent_id: "dev", task: "hello", label: "quick" });
  await waitUntil("it is announced", async () => (await announcements(client, me.session.id)).length === 1);
});
