/** An agent's tools as the flags that Claude Code is really started with. */

import type { Agent } from "@aegis/contract/agent.ts";
import { expect, test } from "vitest";
import { scopeArguments } from "../../src/claude-code/command.ts";

const agent = (more: Partial<Agent>) => ({
  tools: null,
  deny_tools: [],
  permission: "auto" as const,
  max_turns: null,
  ...more,
});

test.each<[string, Partial<Agent>, string[]]>([
  ["no list", {}, ["--allowedTools", "mcp__aegis"]],
  [
    "our names",
    { tools: ["read", "fetch"] },
    ["--tools", "Read,NotebookRead,WebFetch", "--allowedTools", "mcp__aegis"],
  ],
  ["its own names", { tools: ["Task", "aegis_meta"] }, ["--tools", "Task", "--allowedTools", "mcp__aegis"]],
  ["none", { tools: [] }, ["--tools", "", "--allowedTools", "mcp__aegis"]],
  ["everything", { tools: ["*"] }, ["--allowedTools", "mcp__aegis"]],
  [
    "part of a tool",
    { tools: ["Bash(git:*)"] },
    ["--tools", "Bash,BashOutput,KillShell", "--allowedTools", "mcp__aegis,Bash(git:*)"],
  ],
  [
    "part of a tool that needs no ask",
    { tools: ["Bash(git:*)"], permission: "full" },
    ["--tools", "", "--allowedTools", "mcp__aegis"],
  ],
  [
    "denied ones",
    { deny_tools: ["grep", "Bash(rm:*)", "aegis_spawn"] },
    ["--allowedTools", "mcp__aegis", "--disallowedTools", "Grep,Bash(rm:*)"],
  ],
  [
    "no more than the session that started it",
    { within: [["Read", "Bash(git:*)", "aegis_meta"], ["*"]] },
    ["--tools", "Read,NotebookRead", "--allowedTools", "mcp__aegis"],
  ],
  [
    "a list of its own, and no more than the session that started it",
    { tools: ["read", "bash", "Bash(git:*)", "aegis_meta"], within: [["read", "grep"]] },
    ["--tools", "Read,NotebookRead", "--allowedTools", "mcp__aegis"],
  ],
  ["a limit of calls", { max_turns: 3 }, ["--allowedTools", "mcp__aegis", "--max-turns", "3"]],
])("%s", (_, more, flags) => {
  expect(scopeArguments(agent(more), true)).toEqual(flags);
});

test("without the plane nothing of it is allowed", () => {
  expect(scopeArguments(agent({ tools: ["Read"] }), false)).toEqual(["--tools", "Read,NotebookRead"]);
});
