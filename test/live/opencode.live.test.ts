/** The real OpenCode, driven as the daemon drives it, with a fake model on loopback. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Agent } from "../../src/contract/agent.ts";
import { createAcpDriver } from "../../src/drivers/acp/driver.ts";
import { opencode } from "../../src/drivers/acp/recipes/opencode.ts";
import type { DriverHostOptions } from "../helpers/driver-host.ts";
import { endOf, eventsOf, runTurn, textOf, watchTurn } from "../helpers/turns.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import { type FakeChat, startFakeChat, systemOf } from "./fake-chat.ts";
import { liveSeat } from "./live-seat.ts";

/** The platform's own binary: the package's `bin` needs an install script. */
const program = fileURLToPath(
  new URL(`node_modules/opencode-${process.platform}-${process.arch}/bin/opencode`, import.meta.url),
);

let model: FakeChat;
beforeAll(async () => {
  model = await startFakeChat();
});
afterAll(() => model.close());

function seat(options: DriverHostOptions & { agent?: Partial<Agent> } = {}) {
  const { agent, ...host } = options;
  const limit = { context: 200_000, output: 8000 };
  const config = {
    share: "disabled",
    enabled_providers: ["fake"],
    small_model: "fake/small",
    model: "fake/small",
    provider: {
      fake: {
        npm: "@ai-sdk/openai-compatible",
        name: "Fake",
        options: { baseURL: `${model.url}/v1`, apiKey: "k" },
        models: {
          small: { name: "Small", limit },
          big: { name: "Big", limit, reasoning: true, cost: { input: 1, output: 2 } },
        },
      },
    },
    permission: { edit: "ask" },
  };
  return liveSeat(
    (deps) => createAcpDriver(deps, opencode),
    {
      harness: "opencode",
      model: "fake/big",
      effort: null,
      permission: "auto",
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      },
      options: { command: program },
      ...agent,
    },
    host,
  );
}

/** Titles are made by a call of their own. */
const lastRequest = () => model.requests.findLast((request) => (request.tools ?? []).length > 0);

test("two turns share one process and one memory", async () => {
  const { open, pids } = await seat();
  const conversation = await open();
  const first = await runTurn(conversation, "remember 42");
  expect(textOf(first)).toBe("reply: remember 42");
  expect(eventsOf(first, "accepted")).toHaveLength(1);
  expect(endOf(first)).toMatchObject({
    reason: "completed",
    usage: { input: 6, cache_read: 4, output: 5, cost: expect.any(Number) },
  });
  expect(eventsOf(first, "raw")).toEqual([]);
  expect(eventsOf(first, "notice")).toEqual([]);
  expect(eventsOf(first, "context")).toMatchObject([{ size: 200_000 }]);
  expect(systemOf(lastRequest())).toContain("You are under test.");
  const second = await runTurn(conversation, "again");
  expect(textOf(second)).toBe("reply: again");
  expect(endOf(second).usage?.cost).toBeCloseTo(endOf(first).usage?.cost ?? 0, 6);
  expect(JSON.stringify(lastRequest()?.messages)).toContain("remember 42");
  expect(lastRequest()?.model).toBe("big");
  expect(pids).toHaveLength(1);
});

test("thinking is apart from text", async () => {
  const { open } = await seat();
  const events = await runTurn(await open(), "THINK something");
  expect(eventsOf(events, "thinking").map((event) => event.text)).toEqual(["about something"]);
  expect(textOf(events)).toBe("thought");
});

test("the plane's tools are there at once and need no consent", async () => {
  const { open, plane, host } = await seat({ agent: { permission: "write" } });
  const events = await runTurn(await open(), 'TOOL aegis_change {"text":"hi"}');
  expect(textOf(events)).toContain("changed: hi");
  expect(plane.calls).toEqual([{ tool: "change", text: "hi" }]);
  expect(host.asked).toEqual([]);
  expect(eventsOf(events, "tool_call")).toMatchObject([{ name: "mcp__aegis__change", input: { text: "hi" } }]);
  expect(eventsOf(events, "tool_result")).toMatchObject([
    { output: expect.stringContaining("changed: hi"), is_error: false },
  ]);
});

test("a shell command named like a tool of the plane is asked about, with its arguments", async () => {
  const { open, host } = await seat({ agent: { permission: "write" } });
  const input = { command: "touch aegis_change", description: "aegis_change" };
  const events = await runTurn(await open(), `TOOL bash ${JSON.stringify(input)}`);
  expect(host.asked).toMatchObject([{ kind: "execute", tool: "bash", input: { command: input.command } }]);
  expect(eventsOf(events, "tool_result")).toMatchObject([{ is_error: true }]);
});

test("an interrupt ends the turn and leaves the conversation usable", async () => {
  const { open, pids } = await seat();
  const conversation = await open();
  const turn = watchTurn(conversation, "HOLD");
  await turn.seen("text_delta");
  turn.abort();
  expect(endOf(await turn.done).reason).toBe("cancelled");
  expect(conversation.alive).toBe(true);
  expect(textOf(await runTurn(conversation, "still there"))).toBe("reply: still there");
  expect(pids).toHaveLength(1);
});

test("a file is written only when a person allows it", async () => {
  const answers = ["deny", "allow"];
  const { open, host, dir } = await seat({
    permission: () =>
      answers.shift() === "allow" ? { decision: "allow", scope: "once" } : { decision: "deny", reason: "not today" },
  });
  const file = join(dir, "new.txt");
  const prompt = `TOOL write ${JSON.stringify({ filePath: file, content: "hello" })}`;
  const conversation = await open();
  const denied = await runTurn(conversation, prompt);
  expect(host.asked).toMatchObject([{ kind: "edit", tool: "write" }]);
  expect(eventsOf(denied, "tool_result")).toMatchObject([{ output: "not today", is_error: true }]);
  expect(existsSync(file)).toBe(false);
  const granted = await runTurn(conversation, prompt);
  expect(eventsOf(granted, "tool_result")).toMatchObject([{ is_error: false }]);
  expect(existsSync(file)).toBe(true);
});

test("an interrupt while a permission is open withdraws it", async () => {
  const { open, host, dir } = await seat({ permission: () => new Promise(() => {}) });
  const conversation = await open();
  const turn = watchTurn(conversation, `TOOL write ${JSON.stringify({ filePath: join(dir, "x"), content: "x" })}`);
  await host.arrived("asked", 1);
  turn.abort();
  expect(endOf(await turn.done).reason).toBe("cancelled");
  expect(textOf(await runTurn(conversation, "still there"))).toBe("reply: still there");
});

test("`write` edits without a question, `read` is refused without one", async () => {
  for (const [permission, written] of [
    ["write", true],
    ["read", false],
  ] as const) {
    const { open, host, dir } = await seat({ agent: { permission } });
    const file = join(dir, "new.txt");
    await runTurn(await open(), `TOOL write ${JSON.stringify({ filePath: file, content: "x" })}`);
    expect(existsSync(file)).toBe(written);
    expect(host.asked).toEqual([]);
  }
});

test("killed and resumed twice it has its memory", async () => {
  const { open, close, pids, host } = await seat();
  const first = await open();
  await runTurn(first, "remember 42");
  process.kill(pids.at(-1) ?? 0, "SIGKILL");
  await waitUntil("the death is noticed", () => !first.alive);
  for (const round of ["second", "third"]) {
    await close();
    const events = await runTurn(await open(), round);
    expect(textOf(events)).toBe(`reply: ${round}`);
    expect(JSON.stringify(lastRequest()?.messages)).toContain("remember 42");
  }
  expect(host.remembered).toHaveLength(1);
  expect(host.notices).toEqual([]);
});

test("a session it has lost is begun anew", async () => {
  const { open, host } = await seat();
  await host.remember("ses_0000000000000000000000000000");
  expect(textOf(await runTurn(await open(), "hello"))).toBe("reply: hello");
  expect(host.remembered).toEqual([expect.any(String), null, expect.stringMatching(/^ses_/)]);
});

test("a failed model call fails the turn, and the conversation goes on", async () => {
  const { open } = await seat();
  const conversation = await open();
  expect(endOf(await runTurn(conversation, "FAIL 400"))).toMatchObject({
    reason: "failed",
    error: { message: expect.stringContaining("fake failure") },
  });
  expect(textOf(await runTurn(conversation, "and now"))).toBe("reply: and now");
});

test("a model it does not have is refused with the nearest", async () => {
  const { open } = await seat({ agent: { model: "fake/bigg" } });
  await expect(open()).rejects.toMatchObject({
    turnError: { code: "bad_model", message: expect.stringContaining('did you mean "fake/big"?') },
  });
});
