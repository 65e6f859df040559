/** `aegis mcp`, driven by the client of the MCP SDK in both eras, over stdio and over HTTP. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@aegis/client/client.ts";
import { readDaemonFile } from "@aegis/lib/daemon-file.ts";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AegisProject, aegisProject, cliPath } from "../helpers/aegis.ts";

const files = {
  ".aegis.yaml": `
default_agent: robot
agents:
  robot: { harness: scripted, playbook: robot.yaml, permission: write, description: Does the work }
queues:
  chores: { agent: robot }
`,
  "robot.yaml": `
rules:
  - name: hold
    when: '/^hold (\\S+)/'
    steps: [{ wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: may
    when: '/^may you (.+)/'
    steps: [{ ask: "May I {1}?", tool: "{1}", save: verdict }, { say: "It was {verdict}." }]
  - name: question
    when: ask me
    steps:
      - { tool: aegis_ask_human, input: { question: "Which one?", options: [left, right] }, save: answer }
      - say: "Answer: {answer}"
  - name: long
    when: a long one
    steps: [{ say: "${"0123456789".repeat(4_500)}" }]
  - name: sender
    when: always
    steps: [{ say: "{sender} said: {text}" }]
`,
  "gates/.keep": "",
  ".aegis/commands/hi.md": "---\ndescription: Greets\n---\nsay hi to $ARGUMENTS\n",
};

type Mode = "auto" | "legacy";
type Connected = {
  client: Client;
  call(name: string, args?: Record<string, unknown>): Promise<Record<string, unknown>>;
};

function sdkClient(mode: Mode, answer?: string): Client {
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: "test", version: "1" }, { capabilities, versionNegotiation: { mode } });
  if (answer !== undefined) {
    client.setRequestHandler("elicitation/create", async () => ({ action: "accept" as const, content: { answer } }));
  }
  onTestFinished(() => client.close());
  return client;
}

async function overStdio(
  at: AegisProject,
  mode: Mode,
  answer?: string,
  env: Record<string, string> = {},
): Promise<Connected> {
  const client = sdkClient(mode, answer);
  const args = [cliPath, "mcp", "--client", "cursor"];
  const transport = {
    command: process.execPath,
    args,
    cwd: at.root,
    env: { ...at.env, ...env },
    stderr: "pipe" as const,
  };
  await client.connect(new StdioClientTransport(transport));
  return { client, call: caller(client) };
}

const caller =
  (client: Client) =>
  async (name: string, args: Record<string, unknown> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    const [first] = content;
    const text = first?.type === "text" ? first.text : "";
    return isError === true ? { error: text } : (JSON.parse(text) as Record<string, unknown>);
  };

async function ownerOf(at: AegisProject) {
  const file = await readDaemonFile(at.root);
  if (file === null) throw new Error("no daemon runs");
  return createClient(file);
}

describe.each<Mode>(["auto", "legacy"])("over stdio, %s", (mode) => {
  it("starts the daemon, and starts, follows and continues work under the client's own name", async () => {
    const at = await aegisProject(files);
    const { client, call } = await overStdio(at, mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(mode === "auto" ? "2026-07-28" : "2025-11-25");
    expect(await call("aegis_team")).toMatchObject({
      agents: expect.arrayContaining([expect.objectContaining({ name: "robot", default: true })]),
      queues: [{ name: "chores", agent: "robot" }],
    });
    const started = await call("aegis_start", { prompt: "good morning", title: "Greeting" });
    expect(started).toMatchObject({ status: "completed", text: "cursor said: good morning" });
    expect(await call("aegis_send", { session: started.session, text: "again" })).toMatchObject({
      text: "cursor said: again",
    });
    const held = await call("aegis_start", { prompt: "hold door", wait_seconds: 0 });
    expect(held).toMatchObject({ id: expect.stringMatching(/^msg_/), next: "call aegis_wait with this id" });
    await writeFile(join(at.root, "gates", "door"), "");
    expect(await call("aegis_wait", { id: held.id })).toMatchObject({ status: "completed", text: "released door" });
    const task = await call("aegis_enqueue", { queue: "chores", prompt: "tidy up", key: "one", wait_seconds: 40 });
    expect(task).toMatchObject({ id: expect.stringMatching(/^tsk_/), status: "completed" });
    expect(await call("aegis_enqueue", { queue: "chores", prompt: "tidy up", key: "one" })).toMatchObject({
      id: task.id,
      duplicate: true,
    });
    expect(await call("aegis_send", { session: "no-such", text: "x" })).toMatchObject({
      error: /no session "no-such"/,
    });
    expect(await call("aegis_start", { promt: "x" })).toMatchObject({ error: expect.stringContaining("prompt") });
    const { resources } = await client.listResources();
    const transcript = resources.find(({ name }) => name.includes("Greeting"));
    const read = await client.readResource({ uri: transcript?.uri ?? "" });
    expect(JSON.stringify(read.contents)).toContain("**client:cursor**");
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: "hi", description: "Greets" }]);
    const prompt = await client.getPrompt({ name: "hi", arguments: { arguments: "Ada" } });
    expect(prompt.messages[0]?.content).toMatchObject({ text: expect.stringContaining("say hi to Ada") });
  });

  it("lets the user answer a question, and approves no tool call", { tags: "slow" }, async () => {
    const at = await aegisProject(files);
    const { call } = await overStdio(at, mode, "left");
    const asked = await call("aegis_start", { prompt: "ask me" });
    expect(asked).toMatchObject({ asks: [{ kind: "question", question: "Which one?", options: ["left", "right"] }] });
    expect(await call("aegis_asks")).toMatchObject({ status: "answered", answer: "left" });
    expect(await call("aegis_wait", { id: asked.id })).toMatchObject({ text: expect.stringContaining("left") });
    const blocked = await call("aegis_start", { prompt: "may you write" });
    expect(blocked).toMatchObject({ next: expect.stringContaining("waits for a person") });
    const [ask] = (await call("aegis_asks")).asks as { id: string; answer_with: string }[];
    expect(ask?.answer_with).toBe(`aegis answer ${ask?.id}`);
    expect((await at.aegis("answer", ask?.id ?? "", "allow")).code).toBe(0);
    expect(await call("aegis_wait", { id: blocked.id })).toMatchObject({ text: "It was allowed." });
  });

  it("returns a long result page by page", async () => {
    const at = await aegisProject(files);
    const { call } = await overStdio(at, mode);
    const first = await call("aegis_start", { prompt: "a long one" });
    expect(String(first.text)).toHaveLength(20_000);
    let text = String(first.text);
    while (text.length < Number(first.length)) {
      text += String((await call("aegis_result", { id: first.id, offset: text.length })).text);
    }
    expect(text).toContain("0123456789".repeat(4_500));
  });
});

it("waits across a crash of the daemon, and starts a stopped daemon with the next call", { tags: "slow" }, async () => {
  const at = await aegisProject(files);
  const { call } = await overStdio(at, "auto");
  const held = await call("aegis_start", { prompt: "hold door", wait_seconds: 0 });
  const waiting = call("aegis_wait", { id: held.id, wait_seconds: 45 });
  const pid = await at.daemonPid();
  if (pid === null) throw new Error("no daemon runs");
  process.kill(pid, "SIGKILL");
  await writeFile(join(at.root, "gates", "door"), "");
  // The call may have been between two requests; the work is not lost either way.
  const first = await waiting;
  const ended = first.status === "completed" ? first : await call("aegis_wait", { id: held.id });
  expect(ended).toMatchObject({ status: "completed", text: "released door" });
  expect((await at.aegis("down")).code).toBe(0);
  expect(await call("aegis_send", { session: held.session, text: "and now?" })).toMatchObject({
    text: "cursor said: and now?",
  });
});

it("keeps the tool list small", async () => {
  const at = await aegisProject(files);
  const { client } = await overStdio(at, "auto");
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).sort()).toEqual([
    ...["aegis_asks", "aegis_enqueue", "aegis_result", "aegis_run_workflow", "aegis_send", "aegis_sessions"],
    ...["aegis_start", "aegis_stop", "aegis_team", "aegis_wait"],
  ]);
  expect(JSON.stringify(tools).length).toBeLessThan(6_000);
  expect(tools.find(({ name }) => name === "aegis_wait")?.annotations?.readOnlyHint).toBe(true);
});

it("offers nothing to an agent that Aegis itself started", async () => {
  const at = await aegisProject(files);
  const { client } = await overStdio(at, "auto", undefined, { AEGIS_CHILD: "some-mark" });
  expect((await client.listTools()).tools).toEqual([]);
  expect(client.getInstructions()).toContain("Aegis started this agent");
  expect(await at.daemonPid()).toBeNull();
});

it.each<Mode>(["auto", "legacy"])(
  "serves HTTP through the daemon with a credential that can be revoked, %s",
  async (mode) => {
    const at = await aegisProject(files);
    const issued = await at.json<{ url: string; token: string }>("mcp", "--http", "--client", "desk");
    expect(issued.token).toMatch(/^aegis-client-[\w-]{43}$/);
    const connect = async () => {
      const client = sdkClient(mode);
      const requestInit = { headers: { authorization: `Bearer ${issued.token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(issued.url), { requestInit }));
      return caller(client);
    };
    const call = await connect();
    expect(await call("aegis_start", { prompt: "hello" })).toMatchObject({ text: "desk said: hello" });
    expect((await at.aegis("mcp", "--http", "--client", "desk")).code).not.toBe(0);
    expect((await at.json<{ clients: unknown[] }>("mcp", "clients")).clients).toMatchObject([{ name: "desk" }]);
    // The credential opens what the tools need, and nothing else.
    const asClient = createClient({ url: new URL(issued.url).origin, token: issued.token });
    await expect(asClient.call("shutdown", { body: {} })).rejects.toMatchObject({ code: "forbidden" });
    await expect(asClient.call("addClient", { body: { name: "more" } })).rejects.toMatchObject({ code: "forbidden" });
    // A caller does not become a client by naming one.
    const forged = createClient({ url: new URL(issued.url).origin, token: `aegis-client-${"A".repeat(43)}~desk` });
    await expect(forged.call("listSessions")).rejects.toMatchObject({ code: "unauthorized" });
    const owner = await ownerOf(at);
    const { session } = await owner.call("createSession", { body: { prompt: "may you write" } });
    await expect.poll(async () => (await owner.call("listAsks")).asks.length, { timeout: 20_000 }).toBe(1);
    const [ask] = (await owner.call("listAsks")).asks;
    if (ask === undefined) throw new Error("no ask is open");
    const approve = asClient.call("answerAsk", {
      path: { ask: ask.id },
      body: { choice: "allow", digest: ask.digest },
    });
    await expect(approve).rejects.toMatchObject({ code: "forbidden" });
    await owner.call("closeSession", { path: { session: session.id } });
    expect((await at.aegis("mcp", "revoke", "desk")).code).toBe(0);
    await expect(asClient.call("listSessions")).rejects.toMatchObject({ code: "unauthorized" });
    await expect(connect()).rejects.toThrow();
    expect(await readFile(join(at.root, ".aegis/state/daemon.log"), "utf8")).not.toContain(issued.token);
  },
);

it("writes another program's settings after showing them, and keeps what is there", { tags: "slow" }, async () => {
  const at = await aegisProject(files);
  const file = join(at.env.HOME ?? "", ".cursor", "mcp.json");
  await mkdir(join(at.env.HOME ?? "", ".cursor"));
  await writeFile(file, '{\n    "mcpServers": { "other": { "command": "x" } },\n    "theme": 1\n}\n');
  const unasked = await at.aegis("mcp", "install", "cursor");
  expect(unasked.code).toBe(2);
  expect(unasked.stdout).toContain('+        "aegis"');
  expect(await readFile(file, "utf8")).not.toContain("aegis");
  expect((await at.aegis("mcp", "install", "cursor", "--yes")).code).toBe(0);
  const settings = JSON.parse(await readFile(file, "utf8")) as {
    mcpServers: Record<string, { command: string; args: string[] }>;
  };
  expect(settings).toMatchObject({ mcpServers: { other: { command: "x" } }, theme: 1 });
  const { command, args } = settings.mcpServers.aegis ?? { command: "", args: [] };
  const client = sdkClient("auto");
  await client.connect(new StdioClientTransport({ command, args, cwd: "/", env: at.env, stderr: "pipe" }));
  expect(await caller(client)("aegis_start", { prompt: "hello" })).toMatchObject({ text: "cursor said: hello" });
  expect((await at.aegis("mcp", "install", "cursor", "--yes")).stdout).toContain("already has this entry");
  const commented = join(at.env.HOME ?? "", ".config", "zed", "settings.json");
  await mkdir(join(at.env.HOME ?? "", ".config", "zed"), { recursive: true });
  await writeFile(commented, "// mine\n{}\n");
  const refused = await at.aegis("mcp", "install", "zed", "--yes");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("context_servers") });
  expect(await readFile(commented, "utf8")).toBe("// mine\n{}\n");
});
