/** The real Codex app server, driven as the daemon drives it, with a fake model on loopback. */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Agent } from "../../src/contract/agent.ts";
import { createCodexDriver } from "../../src/drivers/codex/driver.ts";
import { DriverError } from "../../src/drivers/driver.ts";
import type { DriverHostOptions } from "../helpers/driver-host.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import { endOf, eventsOf, runTurn, textOf, watchTurn } from "../helpers/turns.ts";
import { type FakeOpenAi, startFakeOpenAi } from "./fake-openai.ts";
import { liveSeat } from "./live-seat.ts";

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
  const home = join(await tempDir(), "codex");
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
    { ...host, env: { CODEX_HOME } },
  );
}

const lastRequest = () => model.requests.at(-1);
const escalate = (cmd: string) =>
  `TOOL exec_command ${JSON.stringify({ cmd, sandbox_permissions: "require_escalated", justification: "must" })}`;

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

test("a plane that cannot be reached is said loudly, and the turn goes on", async () => {
  const { open, host } = await seat();
  const nowhere = { url: "http://127.0.0.1:9/mcp", token: "secret", listed: async () => false };
  const events = await runTurn(await open({ plane: nowhere }), "hello");
  expect([...host.notices, ...eventsOf(events, "notice")]).toMatchObject([{ level: "error" }]);
  expect(textOf(events)).toBe("reply: hello");
});

test("the plane's token is on no command line and in no environment", async () => {
  const { open, plane, pids } = await seat();
  await open();
  const seen = await Promise.all(["cmdline", "environ"].map((file) => readFile(`/proc/${pids[0]}/${file}`, "utf8")));
  expect(seen.join()).not.toContain(plane.address.token);
});

test("the shell has a folder of its own and no key", async () => {
  const { open } = await seat();
  const events = await runTurn(await open(), 'TOOL exec_command {"cmd":"echo T=$TMPDIR K=$FAKE_KEY."}');
  expect(textOf(events)).toMatch(/T=\S+\/state\/tmp K=\./);
});

test("an interrupt ends the turn in the process, which goes on", async () => {
  const { open, pids } = await seat();
  const conversation = await open();
  const turn = watchTurn(conversation, "HOLD");
  await turn.seen("text_delta");
  turn.abort();
  expect(endOf(await turn.done)).toMatchObject({ reason: "cancelled", error: null });
  expect(conversation.alive).toBe(true);
  expect(textOf(await runTurn(conversation, "still there?"))).toBe("reply: still there?");
  expect(pids).toHaveLength(1);
});

test("an interrupt right after sending still ends the turn", async () => {
  const { open } = await seat();
  const conversation = await open();
  const turn = watchTurn(conversation, "HOLD");
  await new Promise((resolve) => setImmediate(resolve));
  turn.abort();
  expect(endOf(await turn.done).reason).toBe("cancelled");
  expect(textOf(await runTurn(conversation, "next"))).toBe("reply: next");
});

test("an interrupt cancels a call of the plane", async () => {
  const { open, plane } = await seat();
  const conversation = await open();
  const turn = watchTurn(conversation, 'TOOL mcp__aegis/wait {"text":"for ever"}');
  await plane.called("wait");
  turn.abort();
  expect(endOf(await turn.done).reason).toBe("cancelled");
  expect(conversation.alive).toBe(true);
});

test("a command that leaves the sandbox is asked for, and denied", async () => {
  const { open, host, dir } = await seat({ permission: () => ({ decision: "deny", reason: "no" }) });
  const events = await runTurn(await open(), escalate("touch made"));
  expect(host.asked).toMatchObject([{ tool: "shell", kind: "execute", title: "touch made" }]);
  expect(eventsOf(events, "tool_result")).toMatchObject([{ is_error: true, output: "declined" }]);
  expect(existsSync(join(dir, "made"))).toBe(false);
});

test("a command that leaves the sandbox is asked for, and allowed", async () => {
  const { open, dir } = await seat({ permission: () => ({ decision: "allow", scope: "session" }) });
  const events = await runTurn(await open(), escalate("touch made"));
  expect(endOf(events).reason).toBe("completed");
  expect(existsSync(join(dir, "made"))).toBe(true);
});

test("an interrupt withdraws an open question", async () => {
  const withdrawn = Promise.withResolvers<void>();
  const { open, host } = await seat({
    permission: (_request, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          withdrawn.resolve();
          resolve({ decision: "deny", reason: "withdrawn" });
        });
      }),
  });
  const turn = watchTurn(await open(), escalate("touch made"));
  await host.arrived("asked", 1);
  turn.abort();
  expect(endOf(await turn.done).reason).toBe("cancelled");
  await withdrawn.promise;
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

test("kill -9 in a turn fails it; what was accepted is on record, and the conversation goes on", async () => {
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

test.each([
  ["FAIL 401", "not_logged_in"],
  ["FAIL 404", "bad_model"],
  ["FAIL 429", "rate_limited"],
  ["FAIL 503", "overloaded"],
  ["FAIL 400", "model"],
])("%s is %s, and the conversation goes on", async (prompt, code) => {
  const { open } = await seat();
  const conversation = await open();
  expect(endOf(await runTurn(conversation, prompt))).toMatchObject({ reason: "failed", error: { code } });
  expect(textOf(await runTurn(conversation, "next"))).toBe("reply: next");
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

test("thinking is apart from text", async () => {
  const { open } = await seat();
  const events = await runTurn(await open(), "THINK hard");
  expect(eventsOf(events, "thinking")).toMatchObject([{ text: "about hard" }]);
  expect(textOf(events)).toBe("thought");
});
