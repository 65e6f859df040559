import { describe, expect, it } from "vitest";
import { allowedSkills, isOfferedByHarness, preloadedSkills } from "../src/access.ts";
import { parsed, simplePage } from "./fixtures.ts";

describe("whose skills they are", () => {
  const skills = [parsed(simplePage("a")), parsed(simplePage("ab")), { ...parsed(simplePage("c")), plugin: "p" }];
  const allowed = (list: string[] | null) => allowedSkills(skills, list).map(({ name }) => name);

  it("is said by an agent's list", () => {
    expect(allowed(null)).toEqual(["a", "ab", "c"]);
    expect(allowed([])).toEqual([]);
    expect(allowed(["A"])).toEqual(["a"]);
    expect(allowed(["a*"])).toEqual(["a", "ab"]);
    expect(allowed(["p:c"])).toEqual(["c"]);
    expect(allowed(["p:*", "*"])).toEqual(["a", "ab", "c"]);
  });

  it("are left to Claude Code where it reads them itself", () => {
    const claude = { ...parsed(simplePage("a")), source: "claude" } as const;
    const own = { skills: null, harness: "claude-code", tools: null, deny_tools: [] };
    expect(isOfferedByHarness(own, claude)).toBe(true);
    expect(isOfferedByHarness(own, { ...claude, source: "aegis" })).toBe(false);
    expect(isOfferedByHarness({ ...own, tools: ["read"] }, claude)).toBe(false);
    expect(isOfferedByHarness({ ...own, deny_tools: ["Skill"] }, claude)).toBe(false);
    expect(isOfferedByHarness({ ...own, harness: "codex" }, claude)).toBe(false);
    expect(isOfferedByHarness({ skills: null }, claude)).toBe(false);
  });

  it("are given in full to an agent whose file names them, not to one of the configuration", () => {
    const given = (source: "claude" | "config", list: string[] | null) =>
      preloadedSkills({ source, file: "/f", skills: list }, skills).map(({ name }) => name);
    expect(given("claude", ["ab", "p:c", "a*"])).toEqual(["ab", "c"]);
    expect(given("claude", null)).toEqual([]);
    expect(given("config", ["ab"])).toEqual([]);
  });
});
