/** What the loop offers the model, and what it answers when the model asks for more. */

import type { Agent } from "@aegis/contract/agent.ts";
import type { FakeCall } from "@aegis/test/helpers/fake-models/wire.ts";
import { eventsOf, textOf } from "@aegis/test/helpers/turns.ts";
import { describe, expect, test } from "vitest";
import { seat } from "./seat.ts";

const call = (name: string, input: unknown = {}): FakeCall => ({ id: name, name, input });
const peerTool = { name: "ask_peer", description: "Ask", inputSchema: { type: "object" }, readOnly: false };

async function offered(agent: Partial<Agent>): Promise<string[]> {
  const { say, models } = await seat([{ text: "ok" }], { agent, host: { tools: [peerTool] } });
  await say("hello");
  return models.requests[0]?.tools.toSorted() ?? [];
}

describe("the model is offered", () => {
  const core = ["bash", "edit", "fetch", "glob", "grep", "ls", "read", "todo", "write"];
  test.each<[string, Partial<Agent>, string[]]>([
    ["everything", {}, [...core, "ask_peer"].toSorted()],
    ["only what its tools name", { tools: ["Read", "grep"] }, ["ask_peer", "grep", "read"]],
    ["nothing of its own", { tools: [] }, ["ask_peer"]],
    ["no part of a tool that nobody would check", { tools: ["Bash(git:*)", "ls"] }, ["ask_peer", "ls"]],
    [
      "all but what is denied",
      { deny_tools: ["Bash", "write", "edit", "fetch"] },
      ["ask_peer", "glob", "grep", "ls", "read", "todo"],
    ],
    [
      "nothing that changes files when it may only read",
      { permission: "read" },
      ["ask_peer", "fetch", "glob", "grep", "ls", "read", "todo"],
    ],
  ])("%s", async (_, agent, names) => {
    expect(await offered(agent)).toEqual(names);
  });
});

test("a tool it was not offered is refused with the reason, and the rest of the batch runs", async () => {
  const refusal =
    '{"success":false,"error":"Tool \'sql\' requires agent \'dba\' but current agent is \'tester\'","error_type":"validation_error"}';
  const { say } = await seat(
    [{ calls: [call("write", { path: "a", content: "x" }), call("sql"), call("ls"), call("nothing")] }, { text: "ok" }],
    { agent: { tools: ["ls"] }, host: { refusals: { sql: { output: refusal, is_error: true } } } },
  );
  const events = await say("hello");
  const results = Object.fromEntries(eventsOf(events, "tool_result").map((one) => [one.call, one]));
  expect(JSON.parse(results.write?.output ?? "")).toEqual({
    success: false,
    error: "Tool 'write' is not available to agent 'tester': its tools do not name it",
    error_type: "permission_error",
  });
  expect(results.sql).toMatchObject({ output: refusal, is_error: true });
  expect(results.ls).toMatchObject({ is_error: false });
  expect(results.nothing?.output).toContain('No tool "nothing"');
  expect(textOf(events)).toBe("ok");
});

test("a temperature of zero and a limit of calls are the agent's own", async () => {
  const { say, models } = await seat([{ calls: [call("ls")] }, { text: "late" }], {
    agent: { temperature: 0, max_turns: 1 },
  });
  const events = await say("hello");
  expect(models.requests[0]?.body).toMatchObject({ temperature: 0 });
  expect(eventsOf(events, "turn.ended")).toMatchObject([{ reason: "truncated" }]);
});
