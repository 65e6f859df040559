import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { SkillRequirements } from "../src/requirements.ts";
import { page, parsed } from "./fixtures.ts";

describe("what a skill needs here", () => {
  async function gates(env: Record<string, string>, config: unknown = {}) {
    const bin = await tempDir();
    writeFileSync(join(bin, "tool"), "#!/bin/sh\n");
    chmodSync(join(bin, "tool"), 0o755);
    writeFileSync(join(bin, "notes"), "no program");
    mkdirSync(join(bin, "folder"));
    const current = { env: { PATH: bin, ...env } as Record<string, string>, config };
    const judge = new SkillRequirements({ env: () => current.env, config: () => current.config, platform: "linux" });
    const missing = (needs: string) => {
      judge.refresh();
      const skill = parsed(page(`name: a\ndescription: b\nmetadata: { openclaw: ${needs} }`));
      return judge.check(skill);
    };
    return { bin, current, judge, missing };
  }

  it("is told miss by miss", async () => {
    const { missing } = await gates({ KEY: "x", BLANK: " " }, { browser: { enabled: true, off: false } });
    const why = (needs: string) => missing(needs).missing;
    expect(why("{ requires: { bins: [tool] } }")).toEqual([]);
    expect(why("{ requires: { bins: [tool, notes, folder, gone, ../tool] } }")).toEqual(
      ["notes", "folder", "gone", "../tool"].map((name) => `no program ${name} on PATH`),
    );
    expect(why("{ requires: { anyBins: [gone, tool] } }")).toEqual([]);
    expect(why("{ requires: { anyBins: [gone, lost] } }")).toEqual(["none of these programs on PATH: gone, lost"]);
    expect(why("{ requires: { env: [KEY, BLANK, NONE] } }")).toEqual([
      "BLANK is not set in the environment",
      "NONE is not set in the environment",
    ]);
    expect(why("{ requires: { config: [browser.enabled, browser.off, constructor.name, __proto__.x] } }")).toEqual(
      ["browser.off", "constructor.name", "__proto__.x"].map((path) => `the setting ${path} is not on`),
    );
    expect(why("{ os: [macos] }")).toEqual(["it is for darwin, this is linux"]);
    expect(why("{ always: true, requires: { bins: [gone] } }")).toEqual([]);
    expect(why("{ always: true, os: darwin }")).toEqual(["it is for darwin, this is linux"]);
    expect(missing("{ primaryEnv: MAIN }")).toEqual({
      eligible: true,
      missing: [],
      notes: ["MAIN, its main key, is not set"],
    });
  });

  it.each([
    ["a list where a map should be", "metadata: { openclaw: { requires: [git] } }", "requires: expected a map"],
    ["text where a map should be", "metadata: { openclaw: { requires: git } }", "requires: expected a map"],
    ["a need nobody knows", "metadata: { openclaw: { requires: { binaries: [git] } } }", "requires.binaries: expected"],
    ["maps in a list", "metadata: { openclaw: { requires: { bins: [{ name: git }] } } }", "expected bins to be a list"],
    [
      "a map of programs",
      "metadata: { openclaw: { requires: { bins: { git: true } } } }",
      "expected bins to be a list",
    ],
    ["systems of another form", "metadata: { openclaw: { os: { linux: true } } }", "expected os to be a list"],
    ["systems that are no names", "metadata: { openclaw: { os: [[linux]] } }", "expected os to be a list"],
    ["a block that is no map", "metadata: { clawdbot: [requires, bins] }", "metadata.clawdbot: expected a map"],
    ["a list of everything", "metadata: [{ requires: { bins: [git] } }]", "metadata: expected a map"],
    ["broken JSON", `metadata: '{"openclaw":{"requires":{"bins":["git"'`, "metadata: expected a map"],
    ["broken YAML", "metadata:\n  openclaw:\n requires: {\n   bins: [git", "expected a map"],
    ["needs at the top that are no map", "requires: [git]", "requires: expected a map"],
    ["broken needs at the top", "requires: { bins: [git\nlicense: MIT", "requires: expected a map"],
  ])("counts as not met when it cannot be read: %s", async (_, header, why) => {
    const { judge } = await gates({});
    judge.refresh();
    const verdict = judge.check(parsed(page(`name: a\ndescription: b\n${header}`)));
    expect(verdict.eligible).toBe(false);
    expect(verdict.missing.join("; ")).toContain(why);
  });

  it("counts as met when nothing is needed, however it is written", async () => {
    const { judge } = await gates({});
    for (const header of [
      "metadata: just words",
      "metadata: { author: somebody, version: 2 }",
      "metadata: { openclaw: { requires: { bins: [], env: null, node: false } } }",
      "metadata: { openclaw: { os: all } }",
      "metadata: { openclaw: { always: true, requires: [gone] } }",
      "requires:",
    ]) {
      judge.refresh();
      expect({ header, ...judge.check(parsed(page(`name: a\ndescription: b\n${header}`))) }).toMatchObject({
        header,
        eligible: true,
      });
    }
  });

  it("is judged again when a program, a variable or a setting comes or goes", async () => {
    const { bin, current, judge } = await gates({});
    const skill = parsed(
      page("name: a\ndescription: b\nmetadata: { aegis: { requires: { bins: [late], env: KEY, config: a.b } } }"),
    );
    const eligible = () => {
      judge.refresh();
      return judge.check(skill).missing.length;
    };
    expect(eligible()).toBe(3);
    writeFileSync(join(bin, "late"), "#!/bin/sh\n", { mode: 0o755 });
    expect(eligible()).toBe(2);
    current.env = { ...current.env, KEY: "x" };
    expect(eligible()).toBe(1);
    current.config = { a: { b: true } };
    expect(eligible()).toBe(0);
    rmSync(join(bin, "late"));
    expect(eligible()).toBe(1);
    current.env = { ...current.env, PATH: "" };
    expect(eligible()).toBe(1);
  });
});
