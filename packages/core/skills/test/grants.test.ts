import { describe, expect, it } from "vitest";
import { SkillGrants } from "../src/grants.ts";
import { parsed, simplePage } from "./fixtures.ts";

const session = "ses_00000000000000000000000001" as never;

describe("tools that a skill allows", () => {
  const skill = {
    ...parsed(simplePage("a", "b", "allowed-tools: Read, Bash(git log:*), mcp__aegis__agent, Edit(src/**)")),
  };
  const allows = (grants: SkillGrants, tool: string, input: unknown = {}) => grants.allows(session, { tool, input });

  it("are those it names, for the turn", () => {
    const grants = new SkillGrants();
    grants.add(session, skill, true);
    expect(allows(grants, "Read")).toBe(true);
    expect(allows(grants, "read")).toBe(true);
    expect(allows(grants, "Write")).toBe(false);
    expect(allows(grants, "mcp__aegis__agent")).toBe(true);
    expect(allows(grants, "Edit", { path: "src/a.ts" })).toBe(false);
    grants.begin(session);
    expect(allows(grants, "Read")).toBe(false);
  });

  it.each([
    ["git log -1", true],
    ["git log", true],
    ["git logs", false],
    ["git push", false],
    ["git log; rm -rf x", false],
    ["git log $(rm x)", false],
    ["git log > file", false],
    ["git log\nrm x", false],
  ])("with %j: %s", (command, expected) => {
    const grants = new SkillGrants();
    grants.add(session, skill, true);
    expect(allows(grants, "Bash", { command })).toBe(expected);
  });

  it("count for a skill of the project only when a person named it", () => {
    const grants = new SkillGrants();
    grants.add(session, skill, false);
    expect(allows(grants, "Read")).toBe(false);
    grants.add(session, { ...skill, source: "user" }, false);
    expect(allows(grants, "Read")).toBe(true);
  });
});
