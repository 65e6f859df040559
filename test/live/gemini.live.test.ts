/** The real Gemini CLI, driven as the daemon drives it, with a fake model on loopback. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Agent } from "../../src/contract/agent.ts";
import { createAcpDriver } from "../../src/drivers/acp/driver.ts";
import { gemini } from "../../src/drivers/acp/recipes/gemini.ts";
import type { DriverHostOptions } from "../helpers/driver-host.ts";
import { endOf, eventsOf, runTurn, textOf, watchTurn } from "../helpers/turns.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import { type FakeGemini, geminiTools, startFakeGemini } from "./fake-gemini.ts";
import { liveSeat } from "./live-seat.ts";

const program = fileURLToPath(new URL("node_modules/@google/gemini-cli/bundle/gemini.js", import.meta.url));

let model: FakeGemini;
beforeAll(async () => {
  model = await startFakeGemini();
});
afterAll(() => model.close());

function seat(options: DriverHostOptions & { agent?: Partial<Agent>; env?: Record<string, string> } = {}) {
  const { agent, env, ...host } = options;
  return liveSeat(
    (deps) => createAcpDriver(deps, gemini),
    {
      harness: "gemini",
      model: "gemini-2.5-pro",
      effort: null,
      permission: "auto",
      env: {},
      options: { command: [process.execPath, program] },
      ...agent,
    },
    { ...host, env: { GEMINI_API_KEY: "test", GOOGLE_GEMINI_BASE_URL: model.url, ...env } },
  );
}

const lastRequest = () => model.requests.at(-1);

test("two turns share one process and one memory", async () => {
  const { open, pids } = await seat();
  const conversation = await open();
  const first = await runTurn(conversation, "remember 42");
  expect(textOf(first)).toBe("reply: remember 42");
  expect(eventsOf(first, "accepted")).toHaveLength(1);
  expect(endOf(first)).toMatchObject({ reason: "completed", usage: { input: 10, output: 5 } });
  expect(eventsOf(first, "raw")).toEqual([]);
  expect(eventsOf(first, "notice")).toEqual([]);
  expect(JSON.stringify(lastRequest()?.contents)).toContain("You are under test.");
  const second = await runTurn(conversation, "again");
  expect(textOf(second)).toBe("reply: again");
  expect(JSON.stringify(lastRequest()?.contents)).toContain("remember 42");
  expect(lastRequest()?.model).toBe("gemini-2.5-pro");
  expect(pids).toHaveLength(1);
});

test("thinking is apart from text", async () => {
  const { open } = await seat();
  const events = await runTurn(await open(), "THINK something");
  expect(eventsOf(events, "thinking").map((event) => event.text)).toEqual([expect.stringContaining("about something")]);
  expect(textOf(events)).toBe("thought");
});

test("the plane's tools are there at once and need no consent", async () => {
  const { open, plane, host } = await seat();
  const events = await runTurn(await open(), 'TOOL mcp_aegis_change {"text":"hi"}');
  expect(textOf(events)).toContain("changed: hi");
  expect(plane.calls).toEqual([{ tool: "change", text: "hi" }]);
  expect(host.asked).toEqual([]);
  expect(geminiTools(lastRequest())).toContain("mcp_aegis_change");
  expect(eventsOf(events, "tool_call")).toMatchObject([{ name: "mcp__aegis__change", input: { text: "hi" } }]);
  expect(eventsOf(events, "tool_result")).toMatchObject([
    { output: expect.stringContaining("changed: hi"), is_error: false },
  ]);
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
  const prompt = `TOOL write_file ${JSON.stringify({ file_path: file, content: "hello" })}`;
  const conversation = await open();
  const denied = await runTurn(conversation, prompt);
  expect(host.asked).toMatchObject([{ kind: "edit", tool: "write_file" }]);
  expect(eventsOf(denied, "tool_result")).toMatchObject([{ output: "not today", is_error: true }]);
  expect(existsSync(file)).toBe(false);
  const granted = await runTurn(conversation, prompt);
  expect(eventsOf(granted, "tool_result")).toMatchObject([{ is_error: false }]);
  expect(existsSync(file)).toBe(true);
});

test("an interrupt while a permission is open withdraws it", async () => {
  const { open, host, dir } = await seat({ permission: () => new Promise(() => {}) });
  const conversation = await open();
  const turn = watchTurn(
    conversation,
    `TOOL write_file ${JSON.stringify({ file_path: join(dir, "x"), content: "x" })}`,
  );
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
    const events = await runTurn(await open(), `TOOL write_file ${JSON.stringify({ file_path: file, content: "x" })}`);
    expect(existsSync(file)).toBe(written);
    expect(host.asked).toEqual([]);
    expect(eventsOf(events, "tool_result")).toMatchObject([{ is_error: !written }]);
    expect(eventsOf(events, "text").some((event) => event.text.includes("MODE_UPDATE"))).toBe(false);
  }
});

test("killed and resumed twice within a minute it has its memory", async () => {
  const { open, close, pids, host } = await seat();
  const first = await open();
  await runTurn(first, "remember 42");
  process.kill(pids.at(-1) ?? 0, "SIGKILL");
  await waitUntil("the death is noticed", () => !first.alive);
  for (const round of ["second", "third"]) {
    await close();
    const events = await runTurn(await open(), round);
    expect(textOf(events)).toBe(`reply: ${round}`);
    expect(JSON.stringify(lastRequest()?.contents)).toContain("remember 42");
  }
  expect(JSON.stringify(lastRequest()?.contents)).toContain("second");
  expect(host.remembered).toHaveLength(1);
  expect(host.notices).toEqual([]);
});

test("a failed model call fails the turn with its code, and the conversation goes on", async () => {
  const { open } = await seat();
  const conversation = await open();
  expect(endOf(await runTurn(conversation, "FAIL 400"))).toMatchObject({
    reason: "failed",
    error: { message: expect.stringContaining("fake failure") },
  });
  expect(textOf(await runTurn(conversation, "and now"))).toBe("reply: and now");
});

test("without a login it says how to get one", async () => {
  const { open } = await seat({ env: { GEMINI_API_KEY: "", GOOGLE_GEMINI_BASE_URL: "" } });
  await expect(open()).rejects.toMatchObject({
    turnError: { code: "not_logged_in", fix: expect.stringContaining("gemini") },
  });
});

test("a process that dies takes only its turn with it", async () => {
  const { open, pids } = await seat();
  const conversation = await open();
  const turn = watchTurn(conversation, "HOLD");
  await turn.seen("text_delta");
  process.kill(pids.at(-1) ?? 0, "SIGKILL");
  expect(endOf(await turn.done)).toMatchObject({ reason: "failed", error: { code: "died" } });
  expect(conversation.alive).toBe(false);
});

test("the user's own settings and login are in force, and stay as they are", async () => {
  const { open, dir } = await seat({ env: { GEMINI_API_KEY: "" } });
  const folder = join(dir, "..", "home", ".gemini");
  await mkdir(folder);
  const settings =
    '{ "tools": { "exclude": ["write_file"] }, /* mine */ "security": { "auth": { "selectedType": "gateway" } } }';
  await writeFile(join(folder, "settings.json"), settings);
  await writeFile(join(folder, "GEMINI.md"), "The user likes brevity.");
  await runTurn(await open(), "hello");
  expect(geminiTools(lastRequest())).not.toContain("write_file");
  expect(JSON.stringify(lastRequest())).toContain("The user likes brevity.");
  expect(await readFile(join(folder, "settings.json"), "utf8")).toBe(settings);
  expect(await readdir(folder)).toEqual(["GEMINI.md", "settings.json"]);
});
