/** How Codex is started, shared and lost, and what is said when it cannot be started. */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@aegis/contract/agent.ts";
import { newId } from "@aegis/contract/ids.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { driverHost } from "@aegis/test/helpers/driver-host.ts";
import { isRunning } from "@aegis/test/helpers/pids.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { endOf, eventsOf, runTurn, textOf, watchTurn } from "@aegis/test/helpers/turns.ts";
import { createBench } from "@aegis/test/suites/driver-bench.ts";
import { expect, onTestFinished, test } from "vitest";
import { createCodexDriver } from "../../src/codex/driver.ts";
import { DriverError } from "../../src/driver.ts";
import { codexAgent, codexUnderTest } from "./under-test.ts";

type Self = {
  args: string[];
  env: Record<string, string>;
  pid: number;
  params: { sandbox: string; approvalPolicy: string; config: { mcp_servers: Record<string, Record<string, unknown>> } };
};

async function startError(more: Partial<Agent>) {
  const bench = await createBench(codexUnderTest(codexAgent(more)), "reply");
  const error = await bench.open().then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DriverError)) throw new Error(`not a DriverError: ${error}`);
  return error.turnError;
}

async function selfOf(more: Partial<Agent> = {}, env: Record<string, string> = {}) {
  const bench = await createBench(codexUnderTest(codexAgent(more), { env }), "reply");
  const { conversation } = await bench.open();
  return { bench, self: JSON.parse(textOf(await runTurn(conversation, "do:self"))) as Self };
}

/** One driver with several conversations. */
async function office() {
  const root = await tempDir();
  const children = { ledgerFile: join(root, "children.jsonl"), owner: root, clock: systemClock, log: silentLogger };
  const driver = createCodexDriver({
    env: { PATH: process.env.PATH, HOME: root },
    processes: createProcesses(children),
    clock: systemClock,
    log: silentLogger,
  });
  const scopes: AsyncDisposableStack[] = [];
  onTestFinished(async () => {
    for (const scope of scopes) await scope.disposeAsync();
    expect(await createProcesses(children).sweep()).toEqual([]);
  });
  return async (name: string, agent = codexAgent(), resume: string | null = null) => {
    const stateDir = join(root, name);
    await mkdir(stateDir, { recursive: true });
    const host = driverHost();
    const scope = new AsyncDisposableStack();
    scopes.push(scope);
    const session = { id: newId("ses", 0), handle: name };
    const plane = null;
    const spec = { session, agent, cwd: root, stateDir, systemPrompt: "", resume, fork: null, memory: [], plane, host };
    const conversation = await driver.open(spec, scope);
    const pid = async () => (JSON.parse(textOf(await runTurn(conversation, "do:self"))) as Self).pid;
    return { conversation, scope, host, pid, home: root };
  };
}

test("conversations that start alike share a server, until the last one leaves", async () => {
  const open = await office();
  const [one, two] = await Promise.all([open("one"), open("two")]);
  const pid = await one.pid();
  expect(await two.pid()).toBe(pid);
  await one.scope.disposeAsync();
  expect(textOf(await runTurn(two.conversation, "do:reply"))).toBe("pong");
  expect(one.conversation.alive).toBe(false);
  await two.scope.disposeAsync();
  expect(isRunning(pid)).toBe(false);
});

test("an agent with another environment has a server of its own", async () => {
  const open = await office();
  const [one, two] = [await open("one"), await open("two", codexAgent({ env: { WHO: "two" } }))];
  expect(await one.pid()).not.toBe(await two.pid());
});

test("a conversation that moves to another server takes its thread along, while others stay", async () => {
  const open = await office();
  const [one, two] = [await open("one"), await open("two")];
  await runTurn(one.conversation, "do:recall");
  await one.scope.disposeAsync();
  const moved = await open("one", codexAgent({ env: { WHO: "one" } }), one.host.resume);
  expect(textOf(await runTurn(moved.conversation, "do:recall"))).toBe("prompts: 2");
  expect(moved.host.notices).toEqual([]);
  expect(textOf(await runTurn(two.conversation, "do:reply"))).toBe("pong");
});

test("a thread that was archived is brought back", async () => {
  const open = await office();
  const one = await open("one");
  await runTurn(one.conversation, "do:recall");
  await one.scope.disposeAsync();
  const [id = ""] = one.host.resume?.split(" ") ?? [];
  const file = join(one.home, ".fixture-codex", `${id}.json`);
  await rename(file, `${file}.archived`);
  const again = await open("one", codexAgent(), one.host.resume);
  expect(textOf(await runTurn(again.conversation, "do:recall"))).toBe("prompts: 2");
});

test("a thread that somebody else has open is left alone, and the error says so", async () => {
  const open = await office();
  const one = await open("one");
  await runTurn(one.conversation, "do:recall");
  await one.scope.disposeAsync();
  const [id = ""] = one.host.resume?.split(" ") ?? [];
  await writeFile(join(one.home, ".fixture-codex", `${id}.json.lock`), String(process.pid));
  await expect(open("one", codexAgent(), one.host.resume)).rejects.toMatchObject({
    turnError: { code: "start", fix: expect.stringContaining("Another Codex process has it open") },
  });
});

test("turns of two conversations on one server stay apart", async () => {
  const open = await office();
  const [one, two] = [await open("one"), await open("two")];
  const slow = watchTurn(one.conversation, "do:slow");
  await slow.seen("text_delta");
  expect(textOf(await runTurn(two.conversation, "do:stream"))).toBe("one two three");
  expect(slow.events.filter((event) => event.type === "text_delta")).toHaveLength(1);
  slow.abort();
  expect(endOf(await slow.done).reason).toBe("cancelled");
});

test("a server that dies fails every turn on it, and each conversation resumes on a new one", async () => {
  const open = await office();
  const [one, two] = [await open("one"), await open("two")];
  await runTurn(one.conversation, "do:recall");
  const waiting = watchTurn(one.conversation, "do:hang");
  await waiting.seen("accepted");
  expect(endOf(await runTurn(two.conversation, "do:die")).error?.code).toBe("died");
  expect(endOf(await waiting.done)).toMatchObject({ reason: "failed", error: { code: "died" } });
  expect([one.conversation.alive, two.conversation.alive]).toEqual([false, false]);
  const again = await open("one", codexAgent(), one.host.resume);
  expect(textOf(await runTurn(again.conversation, "do:recall"))).toBe("prompts: 3");
});

test("a missing program is named, with the way to install it", async () => {
  const error = await startError({ options: { command: "/nowhere/codex" } });
  expect(error).toMatchObject({ code: "not_installed", fix: expect.stringContaining("npm install") });
});

test("a program that ends at once is quoted", async () => {
  const error = await startError({ env: { FIXTURE_START: "exit" } });
  expect(error).toMatchObject({ code: "start", stderr: "no licence", message: expect.stringContaining("code 3") });
});

test("a program that prints HTML is not taken for Codex", async () => {
  const error = await startError({ env: { FIXTURE_START: "html" } });
  expect(error).toMatchObject({ code: "protocol", message: expect.stringContaining("<html>") });
});

test("who is not logged in is told how, before a turn is spent", async () => {
  const error = await startError({ env: { FIXTURE_START: "logged-out" } });
  expect(error).toMatchObject({ code: "not_logged_in", fix: expect.stringContaining("codex login") });
});

test("a thread that Codex has forgotten is dropped, said once, and a new one starts", async () => {
  const bench = await createBench(codexUnderTest(), "reply");
  await bench.host.remember("019a0000-0000-7000-8000-000000000000 gpt-5");
  const { conversation } = await bench.reopen();
  expect(bench.host.remembered).toEqual([expect.any(String), null, expect.any(String)]);
  expect(bench.host.notices).toMatchObject([{ level: "warning", text: expect.stringContaining("earlier history") }]);
  expect(textOf(await runTurn(conversation, "do:recall"))).toBe("prompts: 1");
});

test("only named variables are passed on", async () => {
  const { self } = await selfOf({ env: { FROM_AGENT: "yes" } }, { OPENAI_API_KEY: "sk", ANTHROPIC_API_KEY: "other" });
  expect(self.env).toMatchObject({ OPENAI_API_KEY: "sk", FROM_AGENT: "yes" });
  expect(self.env).not.toHaveProperty("ANTHROPIC_API_KEY");
});

test("the plane is the only MCP server, and its token is in no argument and no variable", async () => {
  const { bench, self } = await selfOf();
  expect(self.params.config.mcp_servers).toMatchObject({
    other: { enabled: false },
    aegis: { http_headers: { Authorization: `Bearer ${bench.planeToken}` }, default_tools_approval_mode: "approve" },
  });
  expect(self.params.config.mcp_servers.aegis?.tool_timeout_sec).toBeGreaterThan(3600);
  expect(JSON.stringify([self.args, self.env])).not.toContain(bench.planeToken);
});

test.each([
  ["read", "read-only", "on-request"],
  ["write", "workspace-write", "on-request"],
  ["full", "danger-full-access", "never"],
  ["auto", "workspace-write", "on-request"],
] as const)("permission %s is sandbox %s", async (permission, sandbox, approvalPolicy) => {
  const { self } = await selfOf({ permission });
  expect(self.params).toMatchObject({ sandbox, approvalPolicy, approvalsReviewer: "user" });
});

test("a plane that Codex did not reach is said loudly", async () => {
  const bench = await createBench(codexUnderTest(codexAgent({ env: { FIXTURE_PLANE: "failed" } })), "reply");
  const { conversation } = await bench.open();
  const events = await runTurn(conversation, "do:reply");
  expect([...bench.host.notices, ...eventsOf(events, "notice")]).toMatchObject([
    { level: "error", text: expect.stringContaining("connection refused") },
  ]);
});
