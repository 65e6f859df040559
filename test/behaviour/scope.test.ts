/** What an agent file grants, seen by a harness on the plane of a real daemon. */
import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { readPlace, withPlaneAgent } from "../helpers/plane-agent.ts";
import { sharedDaemon } from "../helpers/project.ts";
import { createSession, endings, eventsOf, say } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const agentFile = (tools: string) => `---\nname: scoped\ndescription: d\ntools: ${tools}\n---\nBe brief.\n`;
const shared = sharedDaemon({
  ...withPlaneAgent,
  ".aegis.yaml": withPlaneAgent[".aegis.yaml"].replace("default_agent: dev", "default_agent: remote"),
  ".aegis/agents/scoped.md": agentFile("[aegis_meta, aegis_list_sessions]"),
});

async function placeOf(name: string): Promise<McpClient> {
  const { authorization } = await readPlace(shared.project.dir, name);
  const client = new McpClient({ name: "test", version: "1.0.0" });
  const url = new URL(`${shared.daemon.file.url}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization } } }));
  onTestFinished(() => client.close());
  return client;
}

const toolsOf = async (client: McpClient) => (await client.listTools()).tools.map((tool) => tool.name).sort();

it("exactly that is listed and can be called, and a changed file counts with the next turn", async () => {
  const { project, daemon } = shared;
  const session = await createSession(daemon.client, { agent: "scoped", prompt: "hold first" });
  const first = await placeOf("first");
  expect(await toolsOf(first)).toEqual(["aegis_list_sessions", "aegis_meta"]);
  const refused = await first.callTool({ name: "aegis_spawn", arguments: { agent: "dev", prompt: "hi" } });
  expect(refused).toMatchObject({ isError: true, content: [{ type: "text" }] });
  expect(JSON.parse((refused.content[0] as { text: string }).text)).toEqual({
    success: false,
    error: "Tool 'aegis_spawn' is not available to agent 'scoped': its tools do not name it",
    error_type: "permission_error",
  });
  expect(await first.callTool({ name: "aegis_meta", arguments: {} })).toMatchObject({ isError: false });

  await project.write(".aegis/agents/scoped.md", agentFile("[aegis_meta, aegis_spawn]"));
  await waitUntil(
    "the change is taken over",
    async () => (await eventsOf(daemon.client, "config.reloaded")).length > 0,
  );
  expect(await toolsOf(first)).toEqual(["aegis_list_sessions", "aegis_meta"]);
  await daemon.client.call("interruptSession", { path: { session: session.id } });
  await waitUntil("the turn has ended", async () => (await endings(daemon.client, session.id)).length === 1);
  await say(daemon.client, session.id, "show second");
  expect(await toolsOf(await placeOf("second"))).toEqual(["aegis_meta", "aegis_spawn"]);
});
