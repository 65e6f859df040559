import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { type PlaneNote, readPlace, withPlaneAgent } from "../helpers/plane-agent.ts";
import { sharedDaemon, testProject } from "../helpers/project.ts";
import { type Answer, deafSocket, raw } from "../helpers/raw.ts";
import { createSession, endings, eventsOf, hasSaid, messages, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const shared = sharedDaemon(withPlaneAgent);

/** A session whose place on the plane the test takes. */
async function place(name: string, verb: "show" | "hold" = "show"): Promise<PlaneNote & { handle: string }> {
  const { daemon, project } = shared;
  const session = await createSession(daemon.client, { agent: "remote", prompt: `${verb} ${name}` });
  const found = await readPlace(project.dir, name);
  if (verb === "show")
    await waitUntil("its turn ended", async () => (await endings(daemon.client, session.id))[0] === "completed");
  return { ...found, handle: session.handle };
}

async function connect({ authorization }: PlaneNote, era: "modern" | "legacy"): Promise<McpClient> {
  const client = new McpClient(
    { name: "test", version: "1.0.0" },
    era === "modern" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {},
  );
  const url = new URL(`${shared.daemon.file.url}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization } } }));
  onTestFinished(() => client.close());
  return client;
}

async function call(client: McpClient, name: string, input: Record<string, unknown>) {
  const { content, isError } = await client.callTool({ name, arguments: input });
  const [first] = content;
  return { text: first?.type === "text" ? first.text : "", isError: isError ?? false };
}

function rpc(authorization: string | null, body: string, headers: Record<string, string | null> = {}): Promise<Answer> {
  return raw(shared.daemon, "/mcp", {
    method: "POST",
    headers: {
      authorization,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body,
  });
}

const listRequest = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

describe.each(["modern", "legacy"] as const)("a client of the %s era", (era) => {
  it("lists the tools and uses them as the session it belongs to", async () => {
    const me = await place(`era-${era}`);
    const client = await connect(me, era);
    expect(client.getNegotiatedProtocolVersion()).toBe(era === "modern" ? "2026-07-28" : "2025-11-25");
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    expect(names).toEqual(
      expect.arrayContaining(["aegis_meta", "aegis_list_sessions", "aegis_handoff", "aegis_spawn"]),
    );
    expect(tools.find((tool) => tool.name === "aegis_list_sessions")?.annotations?.readOnlyHint).toBe(true);
    expect((await call(client, "aegis_meta", {})).text).toContain(`You are "${me.handle}"`);
    const { result: listed } = JSON.parse((await call(client, "aegis_list_sessions", {})).text) as {
      result: { handle: string }[];
    };
    expect(listed).toContainEqual(expect.objectContaining({ handle: me.handle, active: true, state: "ready" }));

    const peer = await createSession(shared.daemon.client);
    const receipt = await call(client, "aegis_handoff", { target_handle: peer.handle, context: `from ${era}` });
    expect(receipt).toEqual({ text: `landed at ${peer.handle}`, isError: false });
    await hasSaid(shared.daemon.client, peer.id, `you said: from ${era}`);
    expect((await messages(shared.daemon.client, peer.id))[0]?.sender).toMatchObject({
      kind: "agent",
      handle: me.handle,
    });
  });

  it("is told what was wrong in words an agent can act on", async () => {
    const me = await place(`wrong-${era}`);
    const client = await connect(me, era);
    const peer = await createSession(shared.daemon.client);
    const handoff = (input: Record<string, unknown>) => call(client, "aegis_handoff", { context: "x", ...input });
    expect(await handoff({ target_handle: peer.handle, from_handle: peer.handle })).toEqual({
      text: expect.stringContaining(`from_handle "${peer.handle}" is not you`),
      isError: true,
    });
    expect((await handoff({ target_handle: peer.handle, from_handle: me.handle })).isError).toBe(false);
    expect((await handoff({ target_handle: me.handle })).text).toBe("handoff rejected: cannot hand off to yourself");
    expect((await handoff({ target_handle: "no-body" })).text).toBe(
      "handoff rejected: no session 'no-body' (use aegis_list_sessions)",
    );
    expect(await handoff({})).toMatchObject({ text: expect.stringContaining("target_handle"), isError: true });
    expect(await handoff({ target_handle: peer.handle, context: "a\0b" })).toMatchObject({ isError: true });
    expect((await messages(shared.daemon.client, peer.id)).map((one) => one.body)).toEqual(["x"]);
  });
});

it("the tools every agent is taught are there under their names", async () => {
  const client = await connect(await place("names"), "modern");
  const names = (await client.listTools()).tools
    .map((tool) => tool.name)
    .filter((name) => /^aegis_(?!group_)/.test(name));
  expect(names.sort()).toEqual([
    "aegis_ask_human",
    "aegis_cancel",
    "aegis_changes",
    "aegis_claim",
    "aegis_close",
    "aegis_delegate",
    "aegis_enqueue",
    "aegis_handoff",
    "aegis_list_agents",
    "aegis_list_sessions",
    "aegis_meta",
    "aegis_release",
    "aegis_run_workflow",
    "aegis_spawn",
    "aegis_task_status",
    "aegis_workflow_status",
  ]);
  const { text } = await call(client, "aegis_meta", {});
  for (const name of names) expect(text).toContain(`- ${name}: `);
});

it("a client that speaks 2025-06-18 is answered in it", async () => {
  const { authorization } = await place("older");
  const hello = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "older", version: "1.0.0" },
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello });
  expect((await rpc(authorization, body)).text).toContain('"protocolVersion":"2025-06-18"');
  const listed = await rpc(authorization, listRequest, { "mcp-protocol-version": "2025-06-18" });
  expect(listed.status).toBe(200);
  expect(listed.text).toContain("aegis_handoff");
});

it("a call that takes long says that it is still at it", { tags: "slow" }, async () => {
  const me = await place("patient");
  const client = await connect(me, "modern");
  const heard: number[] = [];
  const answered = client.callTool(
    { name: "aegis_ask_human", arguments: { question: "take your time?" } },
    { onprogress: ({ progress }) => heard.push(progress) },
  );
  await waitUntil("it says so", () => heard.length > 0);
  const { asks } = await shared.daemon.client.call("listAsks");
  const ask = asks.find((one) => one.question === "take your time?");
  if (ask === undefined) throw new Error("the question is not among the asks");
  await shared.daemon.client.call("answerAsk", { path: { ask: ask.id }, body: { text: "I did" } });
  const { content } = await answered;
  expect(content).toEqual([
    { type: "text", text: JSON.stringify({ status: "answered", answer: "I did", note: "I did" }) },
  ]);
});

describe("who may call", () => {
  it("no caller without a session's own token, not even with the daemon's", async () => {
    for (const authorization of [null, "Bearer wrong", `Bearer ${shared.daemon.file.token}`]) {
      const answer = await rpc(authorization, listRequest);
      expect(answer.status).toBe(401);
      expect(answer.headers["www-authenticate"]).toBe("Bearer");
    }
  });

  it("no foreign page and no foreign name, with the token too", async () => {
    const { authorization } = await place("guarded");
    expect((await rpc(authorization, listRequest, { origin: "http://evil.example" })).status).toBe(403);
    expect((await rpc(authorization, listRequest, { host: "evil.example" })).status).toBe(403);
    expect((await rpc(authorization, listRequest)).status).toBe(200);
  });

  it("a plane token opens nothing else", async () => {
    const { authorization } = await place("elsewhere");
    expect((await raw(shared.daemon, "/v1/status", { headers: { authorization } })).status).toBe(401);
  });

  it("no caller whose session was closed", async () => {
    const { daemon } = shared;
    const me = await place("closed", "hold");
    expect((await rpc(me.authorization, listRequest)).status).toBe(200);
    await daemon.client.call("closeSession", { path: { session: me.handle } });
    expect((await rpc(me.authorization, listRequest)).status).toBe(401);
  });

  it("the token is written down nowhere by Aegis", async () => {
    const { daemon } = shared;
    const { authorization } = await place("secret");
    const token = authorization.replace("Bearer ", "");
    const session = await createSession(daemon.client);
    await talk(daemon.client, session.id, `my token is ${token}`);
    expect(JSON.stringify(await eventsOf(daemon.client, "turn.text", session.id))).toContain("my token is [redacted]");
    expect(daemon.output).not.toContain(token);
  });
});

describe("requests that are none", () => {
  it.each([
    ["broken JSON", '{"jsonrpc":', {}, 400],
    ["no JSON-RPC", '{"hello":"world"}', {}, 400],
    ["an unknown method", '{"jsonrpc":"2.0","id":1,"method":"tools/destroy"}', {}, 200],
    ["another content type", listRequest, { "content-type": "text/plain" }, 415],
    ["no content type", listRequest, { "content-type": null }, 415],
    ["an empty batch", "[]", {}, 400],
    ["nothing", "", {}, 400],
  ])("%s", async (name, body, headers, status) => {
    const { authorization } = await place(`bad-${name.replaceAll(" ", "-")}`);
    const answer = await rpc(authorization, body, headers as Record<string, string | null>);
    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(/error/);
    expect((await rpc(authorization, listRequest)).status).toBe(200);
  });

  it("other methods are refused", async () => {
    const { authorization } = await place("methods");
    for (const method of ["GET", "DELETE", "PUT"]) {
      expect((await raw(shared.daemon, "/mcp", { method, headers: { authorization } })).status).toBe(405);
    }
  });

  it("a batch is answered whole or refused, never in part", async () => {
    const { authorization } = await place("batch");
    const batch = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "tools/list" }));
    const answer = await rpc(authorization, JSON.stringify(batch));
    const answered = [...answer.text.matchAll(/"id":(\d)/g)].map((match) => match[1]).sort();
    if (answer.status === 200) expect(answered).toEqual(["1", "2"]);
    else expect(answer.status).toBe(400);
  });
});

describe("many at once", () => {
  it("a thousand parallel calls are all answered, and each is recorded", { tags: "slow" }, async () => {
    const { daemon } = shared;
    const me = await place("thousand");
    const client = await connect(me, "modern");
    const results = await Promise.all(Array.from({ length: 1_000 }, () => call(client, "aegis_list_agents", {})));
    expect(results.filter((result) => result.isError || !result.text.includes('"remote"'))).toEqual([]);
    const { session } = await daemon.client.call("getSession", { path: { session: me.handle } });
    await waitUntil(
      "all are recorded",
      async () => (await eventsOf(daemon.client, "tool.called", session.id)).length === 1_000,
    );
  });

  it("two hundred parallel calls are all answered, each hand-over once", { tags: "slow" }, async () => {
    const { daemon } = shared;
    const client = await connect(await place("many"), "modern");
    const peer = await createSession(daemon.client);
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        index % 2 === 0
          ? call(client, "aegis_list_sessions", {})
          : call(client, "aegis_handoff", { target_handle: peer.handle, context: `number ${index}` }),
      ),
    );
    expect(results.filter((result) => result.isError)).toEqual([]);
    await waitUntil("all are answered", async () =>
      (await messages(daemon.client, peer.id)).every((one) => one.status === "done"),
    );
    const bodies = (await messages(daemon.client, peer.id)).map((one) => one.body);
    expect(new Set(bodies).size).toBe(100);
    expect(bodies).toHaveLength(100);
  });
});

describe.each(["modern", "legacy"] as const)("a client of the %s era that hangs up mid-call", (era) => {
  it("takes back what it asked, and is served again", async () => {
    const { daemon } = shared;
    const { authorization } = await place(`hang-up-${era}`);
    const name = "aegis_ask_human";
    const question = `anybody ${era} there?`;
    const version = "2026-07-28";
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { name, arguments: { question }, ...(era === "modern" ? { _meta } : {}) };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const lines = ["POST /mcp HTTP/1.1", `host: ${new URL(daemon.file.url).host}`, `authorization: ${authorization}`];
    lines.push("content-type: application/json", "accept: application/json, text/event-stream");
    if (era === "modern") lines.push(`mcp-protocol-version: ${version}`, "mcp-method: tools/call", `mcp-name: ${name}`);
    const socket = await deafSocket(daemon, `${lines.join("\r\n")}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    const asked = async (status: "open" | "withdrawn") => {
      const { asks } = await daemon.client.call("listAsks", { query: { status } });
      return asks.some((ask) => ask.question === question);
    };
    await waitUntil("it is asked", () => asked("open"));
    socket.destroy();
    await waitUntil("it is taken back", () => asked("withdrawn"));
    expect((await rpc(authorization, listRequest)).status).toBe(200);
  });
});

describe("what a peer is given", () => {
  it("arrives whole when it is five megabytes long, and is refused with its size when no inbox takes it", {
    tags: "slow",
  }, async () => {
    const client = await connect(await place("large"), "modern");
    const peer = await createSession(shared.daemon.client);
    const handoff = (context: string) => call(client, "aegis_handoff", { target_handle: peer.handle, context });
    const large = `${"é".repeat(2.5 * 1024 * 1024)}.`;
    expect(await handoff(large)).toEqual({ text: `landed at ${peer.handle}`, isError: false });
    expect((await messages(shared.daemon.client, peer.id))[0]?.body).toBe(large);
    const refused = await handoff("x".repeat(8 * 1024 * 1024 + 1));
    expect(refused).toEqual({ text: expect.stringMatching(/8388609 bytes long; at most 8388608/), isError: true });
    expect(await messages(shared.daemon.client, peer.id)).toHaveLength(1);
  });
});

describe("a ring of agents that pass everything on", () => {
  const size = 17;

  it("stops by itself at the hop limit and says why", { tags: "slow" }, async () => {
    const agents = Array.from(
      { length: size },
      (_, index) => `  a${index}: { harness: scripted, playbook: a${index}.yaml }`,
    );
    const playbooks = agents.map((_, index) => [
      `a${index}.yaml`,
      `rules: [{ name: pass on, when: always, steps: [{ tool: aegis_handoff,
        input: { target_handle: ring-n${(index + 1) % size}, context: "{text}" } }, { say: passed on }] }]`,
    ]);
    const project = await testProject({
      ".aegis.yaml": `default_agent: a0\nagents:\n${agents.join("\n")}\n`,
      ...Object.fromEntries(playbooks),
    });
    const { client } = await project.start();
    const sessions = [];
    for (let index = 0; index < size; index++) {
      sessions.push(await createSession(client, { agent: `a${index}`, handle: `ring-n${index}` }));
    }
    const { message: chain } = await say(client, "ring-n0", "round and round");
    const failure = () => eventsOf(client, "turn.tool_result").then((all) => all.filter((one) => one.data.is_error));
    await waitUntil("the ring stops", async () => (await failure()).length > 0);
    await waitUntil("all are idle", async () => {
      const { sessions: now } = await client.call("listSessions");
      return now.every((one) => one.state === "ready" && one.pending === 0);
    });
    const failures = await failure();
    expect(failures.map((one) => one.data.output)).toEqual([expect.stringMatching(/refused.*chain.*max_hops.*20/s)]);
    // The first message is no hop: the twentieth hop is the twenty-first message.
    const admitted = await eventsOf(client, "message.admitted");
    expect(admitted.map((event) => event.data.message.hops)).toEqual(Array.from({ length: 21 }, (_, hops) => hops));
    expect(admitted.every((event) => event.data.message.chain === chain)).toBe(true);
    const last = sessions[20 % size];
    const { turns } = await client.call("listTurns", { path: { session: last?.id ?? "" } });
    expect(turns[0]?.text).toContain("aegis_handoff failed: refused");
  });
});
