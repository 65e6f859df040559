/** A plugin with real CLIs under the built daemon: its hooks reach the model and its tools, its own tool is called over MCP. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionView } from "@aegis/contract/session.ts";
import { beforeAll, describe, expect, test } from "vitest";
import { createSession, eventsOf, openAsk, say } from "../helpers/talk.ts";
import { claudeCode } from "./support/harnesses/claude-code.ts";
import { codex } from "./support/harnesses/codex.ts";
import { gemini } from "./support/harnesses/gemini.ts";
import { opencode } from "./support/harnesses/opencode.ts";
import { turnFor, turnOf } from "./support/talk.ts";
import { liveTeam } from "./support/team.ts";

const rules = `
import { hook, tool } from "aegis";

export const before = hook("pre_turn", () => ({ prependSystem: "The house is on the hill." }));

export const gate = hook("pre_tool_use", ({ tool, input }) => {
  if (JSON.stringify(input).includes("forbidden")) return { decision: "deny", reason: tool + " may not touch that" };
  if (tool === "Write") return { decision: "allow", input: { ...input, content: "as the house wants it" } };
});

export const after = hook("after_tool_call", ({ tool, result }) =>
  tool === "weather" ? result + ", says the house" : null);

export const weather = tool(
  { description: "The weather at a place.", permission: "read", parameters: { place: { type: "string", description: "where" } } },
  ({ place }) => "sunny in " + place,
);
`;

const harnesses = [claudeCode, codex, gemini, opencode];
const team = liveTeam(harnesses);

beforeAll(async () => {
  const folder = join(team.project, ".aegis", "plugins", "house");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "plugin.toml"), '[plugin]\nname = "house"\nversion = "1.0.0"\n');
  await writeFile(join(folder, "rules.js"), rules);
  const { plugins } = await team.client.call("reloadPlugins", { body: {} });
  expect(plugins).toMatchObject([{ name: "house" }]);
});

describe.each(harnesses)("$harness", (harness) => {
  let session: SessionView;
  beforeAll(async () => {
    session = await createSession(team.client, { agent: harness.harness });
  });

  test("is told what pre_turn puts ahead", async () => {
    await turnFor(team.client, session.id, "hello");
    expect(team.model(harness).calls().at(-1)).toContain("The house is on the hill.");
  });

  test("calls a tool of the plugin over MCP, whose result passes the hooks once", async () => {
    const name = harness.planeTool("weather");
    const { text } = await turnFor(team.client, session.id, `TOOL ${name} {"place":"Bath"}`);
    expect(text).toContain("sunny in Bath, says the house");
    expect(text.match(/says the house/g)).toHaveLength(1);
  });

  test("may not use a tool of its own that pre_tool_use denies, and nobody is asked", async () => {
    const path = join(team.project, "forbidden.txt");
    const { text } = await turnFor(team.client, session.id, harness.makeFile(path));
    const [result] = (await eventsOf(team.client, "turn.tool_result", session.id)).slice(-1);
    expect(result?.data).toMatchObject({ is_error: true });
    // The protocols of the others have no place for a reason.
    if (harness === claudeCode) expect(text).toContain("Bash may not touch that");
    await expect(readFile(path)).rejects.toThrow("ENOENT");
    expect((await eventsOf(team.client, "ask.opened")).length).toBe(0);
  });
});

test("pre_tool_use changes what a tool of the harness is given, also what a person is asked", async () => {
  const session = await createSession(team.client, { agent: claudeCode.harness });
  const path = join(team.project, "note.txt");
  const input = JSON.stringify({ file_path: path, content: "mine" });
  const receipt = await say(team.client, session.id, `TOOL Write ${input}`);
  const ask = await openAsk(team.client);
  expect(JSON.stringify(ask.detail)).toContain("as the house wants it");
  await team.client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "allow", text: "" } });
  expect((await turnOf(team.client, receipt)).reason).toBe("completed");
  expect(await readFile(path, "utf8")).toBe("as the house wants it");
});
