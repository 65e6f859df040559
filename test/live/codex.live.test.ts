/** The real Codex app server, driven as the daemon drives it, with a fake model on loopback. */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Agent } from "@aegis/contract/agent.ts";
import { createCodexDriver } from "@aegis/drivers/codex/driver.ts";
import { DriverError } from "@aegis/drivers/driver.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DriverHostOptions } from "../helpers/driver-host.ts";
import { codexDir, tempDir } from "../helpers/temp-dir.ts";
import { endOf, eventsOf, runTurn, textOf, watchTurn } from "../helpers/turns.ts";
import { type FakeOpenAi, startFakeOpenAi } from "./fake-openai.ts";
import { liveSeat } from "./live-seat.ts";
import { conversationSuite } from "./support/conversation-suite.ts";

/** The platform's own binary: the package's `bin` is a script that starts it. */
const triple = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-musl`;
const codex = fileURLToPath(
  new URL(`node_modules/@openai/codex-linux-${process.arch}/vendor/${triple}/bin/codex`, import.meta.url),
);

let model: FakeOpenAi;
beforeAll(async () => {
  model = await startFakeOpenAi();
});
afterAll(() => model.close());

/** A home whose settings name the fake model, and a server that Aegis must keep out. */
async function codexHome(): Promise<string> {
  const home = join(await codexDir(), "codex");
  await mkdir(home);
  const settings = [
    'model = "gpt-5.5"',
    'model_provider = "fake"',
    "[model_providers.fake]",
    'name = "fake"',
    `base_url = "${model.url}"`,
    'wire_api = "responses"',
    'env_key = "FAKE_KEY"',
    "request_max_retries = 0",
    "stream_max_retries = 0",
    "[mcp_servers.other]",
    'url = "http://127.0.0.1:9/mcp"',
  ];
  await writeFile(join(home, "config.toml"), settings.join("\n"));
  return home;
}

async function seat(options: DriverHostOptions & { agent?: Partial<Agent>; home?: string } = {}) {
  const { agent, home, ...host } = options;
  const CODEX_HOME = home ?? (await codexHome());
  return liveSeat(
    createCodexDriver,
    {
      harness: "codex",
      permission: "auto",
      env: { FAKE_KEY: "fake-key-value" },
      options: { command: codex },
      ...agent,
    },
    { ...host, env: { CODEX_HOME }, root: await codexDir() },
  );
}

const lastRequest = () => model.requests.at(-1);
const escalate = (cmd: string) =>
  `TOOL exec_command ${JSON.stringify({ cmd, sandbox_permissions: "require_escalated", justification: "must" })}`;

conversationSuite("Codex", {
  seat,
  lastRequest,
  planeTool: (name) => `mcp__aegis/${name}`,
  makeFile: (path) => escalate(`touch ${path}`),
  asked: { kind: "execute", tool: "shell" },
  denied: "declined",
  failures: [
    ["FAIL 401", { code: "not_logged_in" }],
    ["FAIL 404", { code: "bad_model" }],
    ["FAIL 429", { code: "rate_limited" }],
    ["FAIL 503", { code: "overloaded" }],
    ["FAIL 400", { code: "model" }],
  ],
});

test("two turns share one process and one memory", async () => {
  const { open, pids } = await seat();
  const conversation = await open();
  const first = await runTurn(conversation, "remember 42");
  expect(textOf(first)).toBe("reply: remember 42");
  expect(eventsOf(first, "text_delta").map((event) => event.text)).toEqual(["reply: ", "remember 42"]);
  expect(eventsOf(first, "accepted")).toHaveLength(1);
  expect(eventsOf(first, "mode")).toMatchObject([{ model: "gpt-5.5" }]);
  expect(endOf(first).usage).toEqual({ input: 8, cache_read: 2, cache_write: 0, output: 5, cost: null });
  expect(eventsOf(first, "raw")).toEqual([]);
  expect(eventsOf(first, "notice")).toEqual([]);
  const second = await runTurn(conversation, "again");
  expect(endOf(second).usage).toEqual(endOf(first).usage);
  expect(JSON.stringify(lastRequest()?.input)).toContain("remember 42");
  expect(JSON.stringify(lastRequest()?.input)).toContain("You are under test.");
  expect(pids).toHaveLength(1);
});

test("the plane's tools need no consent, and the user's own servers are off", async () => {
  const { open, plane, host } = await seat();
  const events = await runTurn(await open(), 'TOOL mcp__aegis/change {"text":"hi"}');
  expect(textOf(events)).toContain("changed: hi");
  expect(plane.calls).toEqual([{ tool: "change", text: "hi" }]);
  expect(host.asked).toEqual([]);
  expect(host.notices).toEqual([]);
  expect(eventsOf(events, "tool_call")).toMatchObject([{ name: "mcp__aegis__change", input: { text: "hi" } }]);
});

test("the shell has a folder of its own and no key", async () => {
  const { open } = await seat();
  const events = await runTurn(await open(), 'TOOL exec_command {"cmd":"echo T=$TMPDIR K=$FAKE_KEY."}');
  expect(textOf(events)).toMatch(/T=\S+\/state\/tmp K=\./);
});

const patch = (text: string) => `TOOL custom:apply_patch ${JSON.stringify({ text })}`;

test("an agent that may write changes files without asking, and shows the change", async () => {
  const { open, dir, host } = await seat({ agent: { permission: "write" } });
  const conversation = await open();
  await runTurn(conversation, patch("*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch"));
  const events = await runTurn(
    conversation,
    patch("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch"),
  );
  expect(eventsOf(events, "tool_result")).toMatchObject([
    { is_error: false, diff: { path: join(dir, "a.txt"), before: "one", after: "two" } },
  ]);
  expect(await readFile(join(dir, "a.txt"), "utf8")).toBe("two\n");
  expect(host.asked).toEqual([]);
});

test("what Aegis guards is read-only in the sandbox, and a patch of it is asked about, also after a restart", async () => {
  const { open, close, dir, host } = await seat({
    agent: { permission: "write" },
    guarded: [".aegis", ".aegis.yaml", ".claude/settings.json"],
    beforeTool: ({ kind }) =>
      kind === "edit" ? { decision: "ask", reason: "guarded", once: true } : { decision: "allow" },
    permission: () => ({ decision: "deny", reason: "not yours" }),
  });
  await writeFile(join(dir, ".aegis.yaml"), "mine\n");
  const tries = async (conversation: Awaited<ReturnType<typeof open>>, name: string) => {
    const shell = `echo x > .aegis.yaml; mkdir -p .claude; echo x > .claude/settings.json; touch ${name} && echo done`;
    expect(textOf(await runTurn(conversation, `TOOL exec_command ${JSON.stringify({ cmd: shell })}`))).toContain(
      "done",
    );
    const before = host.asked.length;
    await runTurn(
      conversation,
      patch("*** Begin Patch\n*** Update File: .aegis.yaml\n@@\n-mine\n+theirs\n*** End Patch"),
    );
    expect(host.asked.slice(before)).toMatchObject([{ tool: "apply_patch", kind: "edit" }]);
    expect(existsSync(join(dir, name))).toBe(true);
    expect(existsSync(join(dir, ".claude/settings.json"))).toBe(false);
    expect(await readFile(join(dir, ".aegis.yaml"), "utf8")).toBe("mine\n");
  };
  await tries(await open(), "first");
  await close();
  await tries(await open(), "second");
});

test("an agent that may only read changes nothing", async () => {
  const { open, dir } = await seat({ agent: { permission: "read" } });
  const conversation = await open();
  await runTurn(conversation, 'TOOL exec_command {"cmd":"touch made"}');
  await runTurn(conversation, patch("*** Begin Patch\n*** Add File: made\n+one\n*** End Patch"));
  expect(existsSync(join(dir, "made"))).toBe(false);
});

test("full rights ask nobody", async () => {
  const { open, dir, host } = await seat({ agent: { permission: "full" } });
  await runTurn(await open(), 'TOOL exec_command {"cmd":"touch made"}');
  expect(existsSync(join(dir, "made"))).toBe(true);
  expect(host.asked).toEqual([]);
});

test("kill -9 in a turn fails it; the accepted prompt is recorded, and the conversation goes on", async () => {
  const { open, close, host, pids } = await seat();
  const conversation = await open();
  await runTurn(conversation, "remember 42");
  const turn = watchTurn(conversation, "HOLD on to 43");
  await turn.seen("accepted");
  process.kill(pids[0] ?? 0, "SIGKILL");
  expect(endOf(await turn.done)).toMatchObject({ reason: "failed", error: { code: "died" } });
  expect(conversation.alive).toBe(false);
  await close();
  const resumed = await open();
  const calls = model.requests.length;
  expect(textOf(await runTurn(resumed, "back"))).toBe("reply: back");
  expect(JSON.stringify(lastRequest()?.input)).toContain("remember 42");
  expect(JSON.stringify(lastRequest()?.input)).toContain("HOLD on to 43");
  // A change of the model would have cost a call that sums the thread up.
  expect(model.requests.length).toBe(calls + 1);
  expect(host.remembered).toHaveLength(1);
  expect(host.notices).toEqual([]);
});

test("a thread that Codex does not know starts afresh", async () => {
  const { open, host } = await seat();
  await host.remember("019a0000-0000-7000-8000-000000000000 gpt-5.5");
  expect(textOf(await runTurn(await open(), "hello"))).toBe("reply: hello");
  expect(host.notices).toMatchObject([{ level: "warning" }]);
});

test("who is not logged in is told how", async () => {
  const { open } = await seat({ home: await tempDir() });
  const error = await open().then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DriverError);
  expect(error).toMatchObject({ turnError: { code: "not_logged_in", fix: expect.stringContaining("codex login") } });
});
