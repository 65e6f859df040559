/** Who may use what: every row of the matrix, and the ways around it that must not work. */

import { coreTools as nativeTools } from "@aegis/drivers/native/tools/core-tools.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { describe, expect, it } from "vitest";
import type { AgentIdentity } from "../src/agent.ts";
import { mayUsePlane, type ScopedAgent, type ScopedTool, scopeOf } from "../src/tool-access.ts";
import { claudeNames, coreTools, isReservedTool } from "../src/tool-names.ts";

const agentOf = (more: Partial<ScopedAgent> = {}): ScopedAgent => ({
  slug: "helper",
  plugin: null,
  source: "project",
  overrides: [],
  tools: null,
  deny_tools: [],
  permission: "full",
  ...more,
});
const pluginAgent = (plugin: string, more: Partial<ScopedAgent> = {}) => agentOf({ plugin, source: "plugin", ...more });
const toolOf = (name: string, more: Partial<ScopedTool> = {}): ScopedTool => ({
  name,
  kind: more.plugin ? "plugin" : "plane",
  plugin: null,
  needs: "read",
  required_agent: null,
  visible_to: [],
  ...more,
});
const core = (name: string, needs: ScopedTool["needs"] = "read") => toolOf(name, { kind: "core", needs });
const tools = [core("read"), core("bash", "write"), toolOf("aegis_meta"), toolOf("own", { plugin: "db" })];
const all = [...tools, toolOf("other", { plugin: "web" })];
const decide = (agent: ScopedAgent, tool: ScopedTool) => scopeOf(agent)(tool);
const namesFor = (agent: ScopedAgent) => all.filter((tool) => decide(agent, tool).allowed).map((tool) => tool.name);

describe("which tools an agent has", () => {
  it.each([
    ["a user's agent that names none", agentOf(), ["read", "bash", "aegis_meta", "own", "other"]],
    [
      "a built-in agent that names none",
      agentOf({ source: "builtin" }),
      ["read", "bash", "aegis_meta", "own", "other"],
    ],
    ["a plugin's agent that names none", pluginAgent("db"), ["read", "bash", "aegis_meta", "own"]],
    ["a plugin's agent that names some", pluginAgent("db", { tools: ["read", "other"] }), ["read", "other"]],
    ["an agent that names some", agentOf({ tools: ["own", "nothing"] }), ["own"]],
    ["an agent with none at all", agentOf({ tools: [] }), []],
    ["Claude Code's names", agentOf({ tools: ["Read", "mcp__aegis__aegis_meta"] }), ["read", "aegis_meta"]],
    ["the whole plane", agentOf({ tools: ["mcp__aegis"] }), ["aegis_meta", "own", "other"]],
    ["a pattern", agentOf({ tools: ["aegis_*", "*th*r"] }), ["aegis_meta", "other"]],
    ["everything by pattern", agentOf({ tools: ["*"] }), ["read", "bash", "aegis_meta", "own", "other"]],
    ["a plugin's tool by its full name", agentOf({ tools: ["db:own", "db:other"] }), ["own"]],
    ["denied ones", agentOf({ deny_tools: ["Bash", "ow*"] }), ["read", "aegis_meta", "other"]],
    ["a denied part", agentOf({ deny_tools: ["Bash(rm:*)"] }), ["read", "aegis_meta", "own", "other"]],
    ["a granted part", agentOf({ tools: ["Bash(git:*)", "read"] }), ["read"]],
    ["named and denied", agentOf({ tools: ["read", "bash"], deny_tools: ["read"] }), ["bash"]],
    ["rights to read", agentOf({ permission: "read" }), ["read", "aegis_meta", "own", "other"]],
    ["rights that ask", agentOf({ permission: "auto" }), ["read", "bash", "aegis_meta", "own", "other"]],
  ])("%s", (_, agent, expected) => {
    expect(namesFor(agent)).toEqual(expected);
  });

  it("a tool that needs more rights is refused with the reason", () => {
    const decision = decide(agentOf({ permission: "write" }), toolOf("deploy", { needs: "full" }));
    expect(decision).toMatchObject({
      allowed: false,
      refusal: {
        success: false,
        error: "Tool 'deploy' is not available to agent 'helper': its permission is write, the tool needs full",
        error_type: "permission_error",
      },
    });
  });
});

describe("a tool bound to an agent", () => {
  const bound = toolOf("sql", { plugin: "db", required_agent: "db:dba" });
  const identity = (plugin: string | null): AgentIdentity => ({
    source: plugin === null ? "builtin" : "plugin",
    plugin,
    slug: "dba",
  });
  it.each([
    ["the plugin's own agent", pluginAgent("db", { slug: "dba" }), true],
    ["another agent of the plugin", pluginAgent("db", { slug: "intern" }), false],
    ["another plugin's agent of that name", pluginAgent("evil", { slug: "dba" }), false],
    ["a user's agent that merely shares the name", agentOf({ slug: "dba" }), false],
    ["one that stands in front of another plugin's", agentOf({ slug: "dba", overrides: [identity("evil")] }), false],
    ["one that stands in front of the very agent", agentOf({ slug: "dba", overrides: [identity("db")] }), true],
    ["one that names it but is not it", agentOf({ tools: ["sql", "db:sql", "*"] }), false],
  ])("%s", (_, agent, allowed) => {
    expect(decide(agent, bound).allowed).toBe(allowed);
  });

  it("is refused with exactly this answer", () => {
    const decision = decide(agentOf(), bound);
    expect(decision.allowed || decision.refusal).toEqual({
      success: false,
      error: "Tool 'sql' requires agent 'db:dba' but current agent is 'helper'",
      error_type: "validation_error",
    });
  });

  it("names both agents in full", () => {
    const decision = decide(pluginAgent("evil", { slug: "dba" }), bound);
    expect(decision).toMatchObject({
      refusal: { error: "Tool 'sql' requires agent 'db:dba' but current agent is 'evil:dba'" },
    });
  });

  it("may name an agent that no plugin brings", () => {
    const tool = toolOf("look", { plugin: "db", required_agent: "explorer" });
    expect(decide(agentOf({ slug: "explorer" }), tool).allowed).toBe(true);
    expect(decide(pluginAgent("db", { slug: "explorer" }), tool).allowed).toBe(true);
    expect(decide(pluginAgent("evil", { slug: "explorer", tools: ["look"] }), tool).allowed).toBe(false);
  });

  it("gives an agent that extends one of a plugin the tools of that plugin only", () => {
    const heir = agentOf({ extends: "db:dba" });
    expect(decide(heir, toolOf("rows", { plugin: "db" })).allowed).toBe(true);
    expect(decide(heir, toolOf("mail", { plugin: "web" })).allowed).toBe(false);
  });

  it("may belong to another plugin, by its full name", () => {
    const tool = toolOf("sql", { plugin: "web", required_agent: "db:dba" });
    expect(decide(pluginAgent("db", { slug: "dba", tools: ["sql"] }), tool).allowed).toBe(true);
    expect(decide(pluginAgent("web", { slug: "dba" }), tool).allowed).toBe(false);
  });
});

it("a tool for some agents is seen by them alone", () => {
  const tool = toolOf("plan", { visible_to: ["planner", "p:helper"] });
  expect(decide(agentOf({ slug: "planner" }), tool).allowed).toBe(true);
  expect(decide(pluginAgent("p"), tool).allowed).toBe(true);
  expect(decide(agentOf(), tool)).toMatchObject({
    allowed: false,
    refusal: {
      error: "Tool 'plan' is only visible to agents: [planner, p:helper]. Current agent is 'helper'",
      error_type: "validation_error",
    },
  });
  expect(decide(agentOf(), toolOf("plan", { visible_to: [] })).allowed).toBe(true);
});

it("a tool of a plugin is not shown to another plugin's agent that only has the name", () => {
  const tool = toolOf("sql", { plugin: "db", visible_to: ["dba", "web:guest"] });
  const foreign = (slug: string) => pluginAgent("web", { slug, tools: ["sql"] });
  expect(decide(foreign("dba"), tool).allowed).toBe(false);
  expect(decide(foreign("guest"), tool).allowed).toBe(true);
  expect(decide(pluginAgent("db", { slug: "dba" }), tool).allowed).toBe(true);
  expect(decide(agentOf({ slug: "dba" }), tool).allowed).toBe(true);
});

describe("names", () => {
  it("the policy knows every tool of the native loop", () => {
    expect(coreTools.map((tool) => tool.name).sort()).toEqual(
      nativeTools()
        .map((tool) => tool.name)
        .sort(),
    );
  });

  it.each([
    ["read", true],
    ["Bash", true],
    ["Task", true],
    ["aegis_anything", true],
    ["sessions_spawn", true],
    ["mcp__x", true],
    ["agent", true],
    ["query_db", false],
  ])("%s is reserved: %s", (name, reserved) => {
    expect(isReservedTool(name)).toBe(reserved);
  });

  it.each([
    ["edit", ["Edit", "MultiEdit", "NotebookEdit"]],
    ["Bash(git:*)", ["Bash", "BashOutput", "KillShell"]],
    ["WebSearch", ["WebSearch"]],
    ["aegis_meta", []],
    ["mcp__aegis__read", []],
  ])("%s means %j in Claude Code", (text, names) => {
    expect(claudeNames(text)).toEqual(names);
  });

  it("a pattern made to be slow is not", () => {
    const started = performance.now();
    expect(decide(agentOf({ tools: [`${"a*".repeat(5_000)}b`] }), toolOf("a".repeat(10_000))).allowed).toBe(false);
    expect(performance.now() - started).toBeLessThan(scaled(5_000));
  });

  it("an agent with only its harness's tools needs no plane", () => {
    expect(mayUsePlane({ tools: ["Read", "Task", "bash"] })).toBe(false);
    expect(mayUsePlane({ tools: [] })).toBe(false);
    expect(mayUsePlane({ tools: ["Read", "aegis_meta"] })).toBe(true);
    expect(mayUsePlane({ tools: null })).toBe(true);
  });
});
