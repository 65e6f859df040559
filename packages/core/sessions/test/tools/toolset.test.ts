/** What a session may use of the plane, in the process and over MCP, and when that changes. */

import { type AgentProfile, unsaidAgentFields } from "@aegis/contract/agent.ts";
import type { ToolHost } from "@aegis/drivers/driver.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import {
  completed,
  eventsOfType,
  said,
  type TestTurn,
  testDriver,
  testRuntime,
  turnsEnded,
} from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { AgentTool } from "../../src/tools/tools.ts";
import { Toolset } from "../../src/tools/toolset.ts";

const tool = (name: string, more: Partial<AgentTool> = {}): AgentTool => ({
  name,
  description: name,
  input: z.object({}),
  readOnly: false,
  run: async () => `${name} ran`,
  ...more,
});
const sql = tool("sql", { plugin: "db", required_agent: "dba" });
const query = tool("query", { plugin: "db" });
const profile = (slug: string, more: Partial<AgentProfile> = {}): AgentProfile => {
  const { overrides: _, ...unsaid } = unsaidAgentFields;
  return { ...unsaid, slug, source: "project", description: "", prompt: "p", harness: null, permission: null, ...more };
};
const dba = profile("dba", { source: "plugin", plugin: "db" });

async function stage(during: (turn: TestTurn) => Promise<string> = async () => "ok") {
  const driver = testDriver(async function* (turn) {
    yield said(await during(turn));
    yield completed;
  });
  const runtime = await testRuntime(await tempDir(), driver);
  runtime.agents.registerPluginAgent(dba);
  runtime.tools.add(sql);
  runtime.tools.add(query);
  return { runtime, driver };
}

const names = async (tools: ToolHost) => (await tools.list()).map((spec) => spec.name);
const call = (turn: TestTurn, name: string, input: unknown = {}) =>
  turn.spec.host.tools.call(name, input, { key: name, signal: turn.signal });

describe("a session", () => {
  it("sees and can call what its agent has; what it has not is hidden and refused, and the rest of the batch runs", async () => {
    const outcomes: unknown[] = [];
    const { runtime } = await stage(async (turn) => {
      outcomes.push(await names(turn.spec.host.tools));
      outcomes.push(...(await Promise.all([call(turn, "query"), call(turn, "sql"), call(turn, "aegis_list_agents")])));
      return "done";
    });
    await runtime.sessions.create({ agent: "offline", prompt: "go" });
    await turnsEnded(runtime, 1);
    const [listed, queried, refused, agents] = outcomes;
    expect(listed).toContain("query");
    expect(listed).not.toContain("sql");
    expect(queried).toEqual({ output: "query ran", is_error: false });
    expect(refused).toEqual({
      output:
        '{"success":false,"error":"Tool \'sql\' requires agent \'dba\' but current agent is \'offline\'","error_type":"validation_error"}',
      is_error: true,
    });
    expect(agents).toMatchObject({ is_error: false });
    await waitUntil(
      "all calls are recorded",
      async () => (await eventsOfType(runtime.store, "tool.called")).length === 3,
    );
  });

  it("of a plugin's agent has that plugin's tools, also where another agent of that name goes first", async () => {
    const seen: string[][] = [];
    const { runtime } = await stage(async (turn) => {
      seen.push(await names(turn.spec.host.tools));
      return (await call(turn, "sql")).output;
    });
    runtime.tools.add(tool("crawl", { plugin: "web" }));
    runtime.agents.replace([offlineAgent, profile("dba", { tools: [] })], runtime.agents.choice);
    const { session } = await runtime.sessions.create({ agent: "db:dba", prompt: "go" });
    expect(session.agent).toBe("db:dba");
    await turnsEnded(runtime, 1);
    expect(seen[0]).toEqual(expect.arrayContaining(["sql", "query", "aegis_meta"]));
    expect(seen[0]).not.toContain("crawl");
    expect((await eventsOfType(runtime.store, "turn.ended"))[0]?.data.text).toBe("sql ran");
  });

  it("keeps its tools until the turn ends, whatever is added, removed or changed meanwhile", async () => {
    const seen: string[][] = [];
    let step = async (_: TestTurn) => {};
    const { runtime, driver } = await stage(async (turn) => {
      seen.push(await names(turn.spec.host.tools));
      await step(turn);
      seen.push(await names(turn.spec.host.tools));
      return "ok";
    });
    const removeExtra = runtime.tools.add(tool("extra", { plugin: "x" }));
    step = async (turn) => {
      removeExtra();
      runtime.tools.add(tool("later", { plugin: "x" }));
      const narrower = { ...offlineAgent, tools: ["query"] };
      runtime.agents.replace([narrower], runtime.agents.choice);
      expect(await call(turn, "extra")).toEqual({ output: "extra ran", is_error: false });
      expect(await call(turn, "later")).toMatchObject({ is_error: true });
    };
    const { session } = await runtime.sessions.create({ prompt: "one" });
    await turnsEnded(runtime, 1);
    expect(seen[0]).toContain("extra");
    expect(seen[1]).toEqual(seen[0]);
    step = async () => {};
    await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "two" });
    await turnsEnded(runtime, 2);
    expect(seen[2]).toEqual(["query"]);
    expect(driver.opened).toBe(2);
  });

  it("takes over added tools with its next turn and its open conversation", async () => {
    const seen: string[][] = [];
    const { runtime, driver } = await stage(async (turn) => {
      seen.push(await names(turn.spec.host.tools));
      return "ok";
    });
    const { session } = await runtime.sessions.create({ prompt: "one" });
    await turnsEnded(runtime, 1);
    runtime.tools.add(tool("later", { plugin: "x" }));
    await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "two" });
    await turnsEnded(runtime, 2);
    expect(seen[0]).not.toContain("later");
    expect(seen[1]).toContain("later");
    expect(driver.opened).toBe(1);
  });

  it("is told only of tools it has", async () => {
    const { runtime, driver } = await stage(async (turn) => (await call(turn, "aegis_meta")).output);
    runtime.agents.replace(
      [offlineAgent, profile("few", { tools: ["aegis_meta", "query"] }), profile("bare", { tools: ["read"] })],
      runtime.agents.choice,
    );
    await runtime.sessions.create({ agent: "few", prompt: "go" });
    await turnsEnded(runtime, 1);
    const text = (await eventsOfType(runtime.store, "turn.ended"))[0]?.data.text ?? "";
    expect(text).toContain("- query: query");
    expect(text).not.toContain("aegis_handoff");
    expect(driver.turns[0]?.spec.systemPrompt).toContain("aegis_meta, query");
    await runtime.sessions.create({ agent: "bare", prompt: "go" });
    await turnsEnded(runtime, 2);
    expect(driver.turns[1]?.spec.plane).toBeNull();
    expect(driver.turns[1]?.spec.systemPrompt).not.toContain("aegis_");
  });
});

describe("over MCP", () => {
  async function connect(agent: string) {
    const { runtime } = await stage();
    const { session } = await runtime.sessions.create({ agent });
    const tools = new Toolset(runtime.tools, runtime.agents.get(agent), null);
    const { address, revoke } = runtime.plane.open(session, tools);
    let changes = 0;
    const client = new McpClient(
      { name: "test", version: "1.0.0" },
      {
        versionNegotiation: { mode: { pin: "2026-07-28" } },
        listChanged: { tools: { onChanged: () => changes++, autoRefresh: false, debounceMs: 0 } },
      },
    );
    const transport = new StreamableHTTPClientTransport(new URL("http://127.0.0.1/mcp"), {
      requestInit: { headers: { authorization: `Bearer ${address.token}` } },
      fetch: (url, init) => runtime.plane.fetch(new Request(url, init as RequestInit)),
    });
    await client.connect(transport);
    onTestFinished(async () => {
      await client.close();
      revoke();
      await runtime.plane.close();
    });
    return { runtime, tools, client, changes: () => changes };
  }

  it("the same tools are hidden and refused", async () => {
    const { client } = await connect("offline");
    const listed = (await client.listTools()).tools.map((one) => one.name);
    expect(listed).toContain("query");
    expect(listed).not.toContain("sql");
    expect(await client.callTool({ name: "sql", arguments: {} })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: expect.stringContaining('"error_type":"validation_error"') }],
    });
    expect(await client.callTool({ name: "query", arguments: {} })).toMatchObject({ isError: false });
    const own = await connect("db:dba");
    expect((await own.client.listTools()).tools.map((one) => one.name)).toContain("sql");
  });

  it("a change is announced and then listed", async () => {
    const { runtime, tools, client, changes } = await connect("offline");
    await client.listTools();
    runtime.tools.add(tool("later", { plugin: "x" }));
    expect((await client.listTools()).tools.map((one) => one.name)).not.toContain("later");
    expect(tools.refresh()).toBe(true);
    runtime.plane.toolsChanged();
    await waitUntil("the client has heard of it", () => changes() > 0);
    expect((await client.listTools()).tools.map((one) => one.name)).toContain("later");
    expect(tools.refresh()).toBe(false);
  });
});

describe("a name that is taken", () => {
  it.each([
    [tool("query", { plugin: "web" }), 'the plugin "web" cannot provide a tool "query": the plugin "db" has one'],
    [tool("aegis_meta", { plugin: "web" }), 'the plugin "web" cannot provide a tool "aegis_meta": Aegis has one'],
    [tool("read", { plugin: "web" }), "the name is Aegis's own"],
    [tool("aegis_new", { plugin: "web" }), "the name is Aegis's own"],
  ])("is refused, and both owners are named: $name", async (taken, message) => {
    const { runtime } = await stage();
    expect(() => runtime.tools.add(taken)).toThrow(message);
  });

  it("is free again once its owner is gone; a late undo takes nothing from the next", async () => {
    const { runtime } = await stage();
    const undo = runtime.tools.add(tool("mine", { plugin: "a" }));
    undo();
    runtime.tools.add(tool("mine", { plugin: "b" }));
    undo();
    expect(runtime.tools.all().find((one) => one.name === "mine")?.plugin).toBe("b");
  });
});
