/** A project whose agents' places on the plane a test takes: `limited` may do little, `strong` may do all. */
import { fileURLToPath } from "node:url";
import type { Client } from "@aegis/client/client.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { readPlace } from "../plane-agent.ts";
import type { Daemon, Project } from "../project.ts";
import { createSession } from "../talk.ts";

const command = JSON.stringify([
  process.execPath,
  fileURLToPath(new URL("../../fixtures/bin/plane-agent.mjs", import.meta.url)),
]);

/** An agent whose sessions are the test's; `more` are further fields of its entry. */
export function remoteAgent(name: string, more: string): string {
  return `  ${name}: { harness: acp, options: { command: ${command} }, ${more} }\n`;
}

const room = "subagents: { max_children: 90, budget: { agents: 90 } }\n";

/** `mark` is for those who may do anything, `aegis_task_status` is denied to the limited agent. */
export const rightsFiles = {
  ".aegis.yaml": `default_agent: strong
agents:
${remoteAgent("limited", "permission: write, deny_tools: [aegis_task_status]")}${remoteAgent(
  "named",
  "permission: write, deny_tools: [aegis_task_status]",
)}${remoteAgent("reader", "permission: read")}${remoteAgent("strong", "permission: full")}queues:
  plain: { agent: strong, max_parallel: 20 }
  wide: { agent: strong, max_parallel: 20, rights: own, producers: [named] }
${room}`,
  ".aegis/plugins/marks.ts": `
import { tool, workflow, z } from "aegis";
export const mark = tool({ description: "d", permission: "full" }, () => "marked");
export const pass_on = workflow("pass_on", { input: z.object({ how: z.string(), place: z.string() }) }, async (engine, { how, place }) => {
  const text = "do this\\nhold " + place;
  if (how === "spawn") return engine.send(await engine.spawn("strong"), text);
  if (how === "enqueue") return engine.enqueue("plain", text);
  if (how === "bash") return (await engine.bash("echo ran")).stdout;
  if (how === "close") return engine.close(place);
  await engine.spawnGroup("of-" + place, ["strong"]);
  await engine.broadcast("of-" + place, text);
  return engine.waitAll("of-" + place);
});
`,
  // What the code of a tool, a hook and a plugin as such gets into its hands: the functions, by their names.
  ".aegis/plugins/reach.ts": `
import * as aegis from "aegis";
import { command, hook, tool } from "aegis";
let hooked = [];
const functionsIn = (value, path = "", depth = 3) =>
  Object.entries(value ?? {}).flatMap(([key, part]) =>
    typeof part === "function" ? [path + key]
    : typeof part === "object" && part !== null && depth > 0 && !(part instanceof AbortSignal) ? functionsIn(part, path + key + ".", depth - 1)
    : []);
export const watch = hook("pre_turn", (event, context) => { hooked = [...functionsIn(event), ...functionsIn(context)]; });
export const reach = tool({ description: "d", permission: "read" }, (_input, context) => JSON.stringify({
  tool: functionsIn(context).sort(),
  hook: hooked.sort(),
  module: Object.keys(aegis).sort(),
  variables: Object.keys(process.env).filter((name) => /TOKEN|AEGIS_(URL|SESSION)/.test(name)),
}));
export const begin = command({ name: "begin", description: "d" }, (_text, context) => functionsIn(context).sort().join(" "));
`,
  ".aegis/skills/elsewhere/SKILL.md": `---
name: elsewhere
description: Runs in a session of its own.
context: fork
agent: strong
---
do this
hold forked
`,
};

export type Seat = {
  session: SessionId;
  /** The names of the tools that the session sees. */
  tools(): Promise<string[]>;
  call(tool: string, input: Record<string, unknown>): Promise<{ text: string; isError: boolean }>;
};

/** Takes the place of the session that was told to `hold <name>`. */
export async function takeSeat(project: Project, daemon: Daemon, name: string, session: SessionId): Promise<Seat> {
  const { authorization } = await readPlace(project.dir, name);
  const mcp = new McpClient({ name: "test", version: "1.0.0" });
  const url = new URL(`${daemon.file.url}/mcp`);
  await mcp.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization } } }));
  onTestFinished(() => mcp.close());
  return {
    session,
    tools: async () => (await mcp.listTools()).tools.map((tool) => tool.name),
    async call(tool, input) {
      const { content, isError } = await mcp.callTool({ name: tool, arguments: input });
      const [first] = content;
      return { text: first?.type === "text" ? first.text : "", isError: isError ?? false };
    },
  };
}

/** A session that a person started, with the test in its place. */
export async function seated(project: Project, daemon: Daemon, agent: string, name: string): Promise<Seat> {
  const { id } = await createSession(daemon.client, { agent, prompt: `hold ${name}` });
  return takeSeat(project, daemon, name, id);
}

export async function sessionOf(client: Client, handle: string): Promise<SessionId> {
  return (await client.call("getSession", { path: { session: handle } })).session.id;
}
