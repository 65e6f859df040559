/** The real Gemini CLI, driven as the daemon drives it, with a fake model on loopback. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Agent } from "@aegis/contract/agent.ts";
import { createAcpDriver } from "@aegis/drivers/acp/driver.ts";
import { gemini } from "@aegis/drivers/acp/recipes/gemini.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DriverHostOptions } from "../helpers/driver-host.ts";
import { endOf, eventsOf, runTurn, textOf } from "../helpers/turns.ts";
import { type FakeGemini, geminiTools, startFakeGemini } from "./fake-gemini.ts";
import { liveSeat } from "./live-seat.ts";
import { conversationSuite } from "./support/conversation-suite.ts";

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

conversationSuite("Gemini CLI", {
  seat,
  lastRequest,
  planeTool: (name) => `mcp_aegis_${name}`,
  makeFile: (path) => `TOOL write_file ${JSON.stringify({ file_path: path, content: "hello" })}`,
  asked: { kind: "edit", tool: "write_file" },
  denied: "not today",
  failures: [["FAIL 400", { message: expect.stringContaining("fake failure") }]],
});

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

test("without a login it says how to get one", async () => {
  const { open } = await seat({ env: { GEMINI_API_KEY: "", GOOGLE_GEMINI_BASE_URL: "" } });
  await expect(open()).rejects.toMatchObject({
    turnError: { code: "not_logged_in", fix: expect.stringContaining("gemini") },
  });
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
