/** An ACP agent is held to its profile's tools where it asks. */

import type { Agent } from "@aegis/contract/agent.ts";
import { eventsOf, textOf } from "@aegis/test/helpers/turns.ts";
import { describe, expect, test } from "vitest";
import { seat } from "./seat.ts";

const permission = () => ({ decision: "allow", scope: "once" }) as const;

async function answerTo(agent: Partial<Agent>, kind: string, name: string) {
  const at = await seat({ agent: { permission: "full", ...agent }, host: { permission } });
  const events = await at.run(await at.open(), `asksKind ${kind} ${name}`);
  return textOf(events) === "yes" ? "allowed" : eventsOf(events, "tool_result")[0]?.output;
}

const refusal = (tool: string, reason: string) => `Tool '${tool}' is not available to agent 'fixture': ${reason}`;
const unnamed = (tool: string) => refusal(tool, "its tools do not name it");

describe("a call of the agent's own tools", () => {
  test.each([
    // By kind, regardless of the agent's name for the tool.
    { agent: { deny_tools: ["bash"] }, kind: "execute", name: "x", answer: "its deny_tools name it (bash)" },
    { agent: { deny_tools: ["bash"] }, kind: "edit", name: "x", answer: "allowed" },
    { agent: { tools: ["read"] }, kind: "read", name: "x", answer: "allowed" },
    { agent: { tools: ["read"] }, kind: "execute", name: "x", answer: unnamed("bash") },
    { agent: { tools: ["read"] }, kind: "edit", name: "x", answer: unnamed("edit") },
    { agent: { tools: ["read"] }, kind: "delete", name: "x", answer: unnamed("edit") },
    { agent: { tools: ["read"] }, kind: "search", name: "x", answer: unnamed("grep") },
    { agent: { tools: ["read"] }, kind: "fetch", name: "x", answer: unnamed("fetch") },
    { agent: { tools: ["bash"] }, kind: "read", name: "x", answer: unnamed("read") },
    { agent: { tools: ["WebFetch"] }, kind: "fetch", name: "x", answer: "allowed" },
    // What cannot be told apart is refused with its part.
    { agent: { tools: ["edit"] }, kind: "edit", name: "x", answer: unnamed("write") },
    { agent: { tools: ["Bash(git:*)"] }, kind: "execute", name: "x", answer: "its tools name it only as Bash(git:*)" },
    // A name says which of a kind's tools it is.
    { agent: { tools: ["edit"] }, kind: "edit", name: "replace", answer: "allowed" },
    { agent: { tools: ["edit"] }, kind: "edit", name: "write_file", answer: unnamed("write") },
    { agent: { tools: ["grep"] }, kind: "search", name: "grep", answer: "allowed" },
    { agent: { tools: ["grep"] }, kind: "search", name: "google_web_search", answer: unnamed("WebSearch") },
    // A name never moves a call to another kind.
    { agent: { tools: ["read"] }, kind: "execute", name: "read_file", answer: unnamed("bash") },
    // Other tools go by their own name.
    { agent: { tools: ["read"] }, kind: "other", name: "save_memory", answer: unnamed("save_memory") },
    { agent: { tools: ["save_*"] }, kind: "other", name: "save_memory", answer: "allowed" },
    { agent: { deny_tools: ["bash"] }, kind: "other", name: "save_memory", answer: "allowed" },
  ])("$agent: $kind $name → $answer", async ({ agent, kind, name, answer }) => {
    expect(await answerTo(agent, kind, name)).toContain(answer);
  });

  test("the plane's own tools are left to the plane", async () => {
    const at = await seat({ agent: { tools: ["read"] } });
    expect(await at.ask(await at.open(), "asksPlane")).toBe("yes");
  });

  test("plugins are not asked about what the agent may not use, and judge the rest", async () => {
    const judged: string[] = [];
    const beforeTool = ({ tool }: { tool: string }) => {
      judged.push(tool);
      return { decision: "deny", reason: "a plugin says no" } as const;
    };
    const at = await seat({ agent: { deny_tools: ["bash"] }, host: { beforeTool } });
    const conversation = await at.open();
    await at.run(conversation, "asksKind execute run_shell_command");
    expect(judged).toEqual([]);
    await at.run(conversation, "asksKind edit replace");
    expect(judged).toEqual(["replace"]);
  });

  test("the agent is put into a mode in which it asks, whatever its rights", async () => {
    const modes = { read: ["plan"], write: ["edits"], full: ["yolo"], auto: ["plan"] };
    const modeOf = async (agent: Partial<Agent>) => {
      const at = await seat({
        flags: ["--modes=yolo,plan"],
        agent: { permission: "full", ...agent },
        recipe: { modes },
      });
      return (JSON.parse(await at.ask(await at.open(), "settings")) as { mode: string }).mode;
    };
    expect(await modeOf({})).toBe("yolo");
    expect(await modeOf({ deny_tools: ["bash"] })).toBe("plan");
  });
});
