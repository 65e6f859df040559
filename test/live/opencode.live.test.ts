/** The real OpenCode, driven as the daemon drives it, with a fake model on loopback. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Agent } from "@aegis/contract/agent.ts";
import { createAcpDriver } from "@aegis/drivers/acp/driver.ts";
import { opencode } from "@aegis/drivers/acp/recipes/opencode.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DriverHostOptions } from "../helpers/driver-host.ts";
import { endOf, eventsOf, runTurn, textOf } from "../helpers/turns.ts";
import { type FakeChat, startFakeChat, systemOf } from "./fake-chat.ts";
import { liveSeat } from "./live-seat.ts";
import { conversationSuite } from "./support/conversation-suite.ts";
import { openCodeEnv, openCodeSettings } from "./support/opencode-settings.ts";

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
  const models = { small: {}, big: { reasoning: true, cost: { input: 1, output: 2 } } };
  const settings = { ...openCodeSettings(model.url, models), permission: { edit: "ask" } };
  return liveSeat(
    (deps) => createAcpDriver(deps, opencode),
    {
      harness: "opencode",
      model: "fake/big",
      effort: null,
      permission: "auto",
      env: openCodeEnv(settings),
      options: { command: program },
      ...agent,
    },
    host,
  );
}

/** Titles are made by a call of their own. */
const lastRequest = () => model.requests.findLast((request) => (request.tools ?? []).length > 0);

conversationSuite("OpenCode", {
  seat,
  lastRequest,
  planeTool: (name) => `aegis_${name}`,
  makeFile: (path) => `TOOL write ${JSON.stringify({ filePath: path, content: "hello" })}`,
  asked: { kind: "edit", tool: "write" },
  denied: "not today",
  failures: [["FAIL 400", { message: expect.stringContaining("fake failure") }]],
});

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

test("a session it has lost is begun anew", async () => {
  const { open, host } = await seat();
  await host.remember("ses_0000000000000000000000000000");
  expect(textOf(await runTurn(await open(), "hello"))).toBe("reply: hello");
  expect(host.remembered).toEqual([expect.any(String), null, expect.stringMatching(/^ses_/)]);
});

test("a model it does not have is refused with the nearest", async () => {
  const { open } = await seat({ agent: { model: "fake/bigg" } });
  await expect(open()).rejects.toMatchObject({
    turnError: { code: "bad_model", message: expect.stringContaining('did you mean "fake/big"?') },
  });
});
