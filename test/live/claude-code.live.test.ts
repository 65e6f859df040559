/** The real Claude Code CLI, driven as the daemon drives it, with a fake model on loopback. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Agent } from "@aegis/contract/agent.ts";
import { createClaudeCodeDriver } from "@aegis/drivers/claude-code/driver.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DriverHostOptions } from "../helpers/driver-host.ts";
import { endOf, eventsOf, runTurn, textOf, watchEvents, watchTurn } from "../helpers/turns.ts";
import { type FakeAnthropic, startFakeAnthropic } from "./fake-anthropic.ts";
import { liveSeat } from "./live-seat.ts";
import { conversationSuite } from "./support/conversation-suite.ts";

/** The platform's own binary: the package's `bin` needs an install script. */
const claude = fileURLToPath(
  new URL(`node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`, import.meta.url),
);

let model: FakeAnthropic;
beforeAll(async () => {
  model = await startFakeAnthropic();
});
afterAll(() => model.close());

function seat(options: DriverHostOptions & { agent?: Partial<Agent>; env?: Record<string, string> } = {}) {
  const { agent, env, ...host } = options;
  return liveSeat(
    createClaudeCodeDriver,
    {
      harness: "claude-code",
      model: "claude-sonnet-4-5",
      permission: "auto",
      options: { command: claude },
      ...agent,
    },
    {
      ...host,
      env: { ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: model.url, CLAUDE_CODE_MAX_RETRIES: "0", ...env },
    },
  );
}

const lastRequest = () => model.requests.at(-1);

conversationSuite("Claude Code", {
  seat,
  lastRequest,
  planeTool: (name) => `mcp__aegis__${name}`,
  makeFile: (path) => `TOOL Bash ${JSON.stringify({ command: `touch ${path}`, description: "makes" })}`,
  asked: { kind: "execute", tool: "Bash" },
  denied: expect.stringContaining("not today"),
  failures: [
    ["FAIL 401", { code: "not_logged_in" }],
    ["FAIL 404", { code: "bad_model" }],
    ["FAIL 429", { code: "rate_limited" }],
    ["FAIL 529", { code: "overloaded" }],
  ],
});

test("two turns share one process and one memory", async () => {
  const { open, pids } = await seat();
  const conversation = await open();
  const first = await runTurn(conversation, "remember 42");
  expect(textOf(first)).toBe("reply: remember 42");
  expect(eventsOf(first, "text_delta").map((event) => event.text)).toEqual(["reply: ", "remember 42"]);
  expect(eventsOf(first, "accepted")).toHaveLength(1);
  expect(eventsOf(first, "mode")).toMatchObject([{ mode: "default", model: "claude-sonnet-4-5" }]);
  expect(endOf(first).usage).toMatchObject({ input: 10, output: 5, cost: expect.any(Number) });
  expect(eventsOf(first, "raw")).toEqual([]);
  expect(eventsOf(first, "notice")).toEqual([]);
  const second = await runTurn(conversation, "again");
  expect(textOf(second)).toBe("reply: again");
  expect(endOf(second).usage?.cost).toBeCloseTo(endOf(first).usage?.cost ?? 0);
  expect(JSON.stringify(lastRequest()?.messages)).toContain("remember 42");
  expect(JSON.stringify(lastRequest()?.system)).toContain("You are under test.");
  expect(pids).toHaveLength(1);
});

test("the plane's tools are listed at once and need no consent", async () => {
  const { open, plane, host } = await seat();
  const events = await runTurn(await open(), 'TOOL mcp__aegis__change {"text":"hi"}');
  expect(textOf(events)).toContain("tool said: changed: hi");
  expect(plane.calls).toEqual([{ tool: "change", text: "hi" }]);
  expect(host.asked).toEqual([]);
  expect(lastRequest()?.tools?.map((tool) => tool.name)).toContain("mcp__aegis__change");
});

test("consent may change the input", async () => {
  const allow = { decision: "allow", scope: "session", input: { command: "touch other", description: "x" } } as const;
  const { open, dir } = await seat({ permission: () => allow });
  await runTurn(await open(), 'TOOL Bash {"command":"touch made","description":"makes"}');
  expect([existsSync(join(dir, "made")), existsSync(join(dir, "other"))]).toEqual([false, true]);
});

test("an agent that may write edits without asking, and shows the change", async () => {
  const { open, dir, host } = await seat({ agent: { permission: "write" } });
  const conversation = await open();
  const path = join(dir, "a.txt");
  await runTurn(conversation, `TOOL Write {"file_path":"${path}","content":"one"}`);
  const events = await runTurn(conversation, `TOOL Edit {"file_path":"${path}","old_string":"one","new_string":"two"}`);
  expect(eventsOf(events, "tool_result")).toMatchObject([{ diff: { path, before: "one", after: "two" } }]);
  expect(await readFile(path, "utf8")).toBe("two");
  expect(host.asked).toEqual([]);
});

test("a choice is put to a person", async () => {
  const { open, host } = await seat({
    permission: (request) => ({
      decision: "allow",
      scope: "once",
      input: { ...(request.input as object), answers: { "Which?": "B" } },
    }),
  });
  const questions = [
    {
      question: "Which?",
      header: "Pick",
      multiSelect: false,
      options: ["A", "B"].map((label) => ({ label, description: label })),
    },
  ];
  const events = await runTurn(await open(), `TOOL AskUserQuestion ${JSON.stringify({ questions })}`);
  expect(host.asked).toMatchObject([{ tool: "AskUserQuestion", title: "Which?" }]);
  expect(textOf(events)).toContain('"Which?"="B"');
});

test("after a kill -9 in a turn the conversation goes on in a new process, with a new system prompt", async () => {
  const { open, close, host, pids } = await seat();
  const conversation = await open();
  await runTurn(conversation, "remember 42");
  const turn = watchTurn(conversation, "HOLD");
  await turn.seen("text_delta");
  process.kill(pids[0] ?? 0, "SIGKILL");
  expect(endOf(await turn.done)).toMatchObject({ reason: "failed", error: { code: "died" } });
  expect(conversation.alive).toBe(false);
  await close();
  const resumed = await open({ systemPrompt: "You have changed." });
  expect(textOf(await runTurn(resumed, "back"))).toBe("reply: back");
  expect(JSON.stringify(lastRequest()?.messages)).toContain("remember 42");
  expect(JSON.stringify(lastRequest()?.system)).toContain("You have changed.");
  expect(host.remembered).toHaveLength(1);
  expect(host.notices).toEqual([]);
});

test("a conversation that the CLI does not know starts afresh", async () => {
  const { open, host } = await seat();
  await host.remember(crypto.randomUUID());
  expect(textOf(await runTurn(await open(), "hello"))).toBe("reply: hello");
  expect(host.notices).toMatchObject([{ level: "warning" }]);
});

test("a background task that ends starts a turn of its own", async () => {
  const { open, host } = await seat({ permission: () => ({ decision: "allow", scope: "once" }) });
  const conversation = await open();
  const command = { command: "sleep 0.5; echo over", description: "bg", run_in_background: true };
  await runTurn(conversation, `TOOL Bash ${JSON.stringify(command)}`);
  await host.arrived("spontaneous", 1);
  const [own] = host.spontaneous;
  if (own === undefined) throw new Error("no spontaneous turn");
  expect(endOf(await watchEvents(own).done).reason).toBe("completed");
  expect(textOf(await runTurn(conversation, "and now"))).toBe("reply: and now");
});

test("a subagent's calls name their parent", async () => {
  const { open } = await seat({ permission: () => ({ decision: "allow", scope: "once" }) });
  const prompt = 'TOOL mcp__aegis__echo {"text":"from below"}';
  const input = { description: "sub", prompt, subagent_type: "general-purpose", run_in_background: false };
  const events = await runTurn(await open(), `TOOL Task ${JSON.stringify(input)}`);
  const [task, echo] = eventsOf(events, "tool_call");
  expect(echo).toMatchObject({ name: "mcp__aegis__echo", parent: task?.call });
});

test("without a key it says how to log in", async () => {
  const { open } = await seat({ env: { ANTHROPIC_API_KEY: "" } });
  expect(endOf(await runTurn(await open(), "hello"))).toMatchObject({
    reason: "failed",
    error: { code: "not_logged_in", fix: expect.stringContaining("/login") },
  });
});

test("full rights ask nobody where the machine is a sandbox", async () => {
  const { open, dir, host } = await seat({ agent: { permission: "full", env: { IS_SANDBOX: "1" } } });
  const events = await runTurn(await open(), 'TOOL Bash {"command":"touch made","description":"makes"}');
  expect(endOf(events).reason).toBe("completed");
  expect(existsSync(join(dir, "made"))).toBe(true);
  expect(host.asked).toEqual([]);
});

test("an agent that may only read changes nothing", async () => {
  const { open, dir } = await seat({ agent: { permission: "read" } });
  const conversation = await open();
  await runTurn(conversation, `TOOL Write {"file_path":"${join(dir, "made")}","content":"x"}`);
  await runTurn(conversation, "TOOL ExitPlanMode {}");
  await runTurn(conversation, `TOOL Write {"file_path":"${join(dir, "made")}","content":"x"}`);
  expect(existsSync(join(dir, "made"))).toBe(false);
});

test("a compaction is told", async () => {
  const { open } = await seat();
  const conversation = await open();
  await runTurn(conversation, "hello");
  expect(eventsOf(await runTurn(conversation, "/compact"), "compaction")).toMatchObject([
    { summary: expect.stringContaining("continued from a previous conversation") },
  ]);
});

test("a system prompt too long for an argument still arrives", async () => {
  const { open } = await seat();
  await runTurn(await open({ systemPrompt: `${"long ".repeat(40_000)}END-OF-PROMPT` }), "hello");
  expect(JSON.stringify(lastRequest()?.system)).toContain("END-OF-PROMPT");
});
