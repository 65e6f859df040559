import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parsePluginSkill } from "@aegis/plugins/plugin-skill.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { readBody } from "../src/body.ts";
import { SkillLibrary } from "../src/library.ts";
import { SkillMatcher } from "../src/matcher.ts";
import { skillRoots } from "../src/places.ts";
import { buildSkillList } from "../src/skill-list.ts";
import { libraryOf, load, never, parsed, rootAt, simplePage, writeTree } from "./fixtures.ts";

const names = (state: { skills: readonly { name: string }[] }) => state.skills.map((skill) => skill.name);

describe("where skills are found", () => {
  it("is in folders up to six deep, whatever the case of the page, and not below another skill", async () => {
    const root = await tempDir();
    writeTree(root, {
      "a/SKILL.md": simplePage("a"),
      "a/nested/SKILL.md": simplePage("nested"),
      "b/skill.md": simplePage("b"),
      "c/Skill.md": simplePage("c"),
      "1/2/3/4/5/six/SKILL.md": simplePage("six"),
      "1/2/3/4/5/6/seven/SKILL.md": simplePage("seven"),
      ".hidden/SKILL.md": simplePage("hidden"),
      "node_modules/m/SKILL.md": simplePage("m"),
      "page.md": simplePage("page"),
    });
    const state = await load(rootAt(root));
    expect(names(state)).toEqual(["a", "b", "c", "six"]);
    expect(state.diagnostics.map(({ code, file }) => `${code} ${file?.slice(root.length + 1)}`)).toEqual([
      ...["depth 1/2/3/4/5/6/seven", "nesting a/nested/SKILL.md", "name page.md"],
    ]);
    expect(names(await load(rootAt(root, { flat: true })))).toEqual(["a", "b", "c", "page", "six"]);
  });

  it("takes SKILLS.md for an index beside other folders, and for a page where it stands alone", async () => {
    const root = await tempDir();
    writeTree(root, {
      "SKILLS.md": "# All our skills",
      "set/SKILLS.md": "# These skills",
      "set/a/SKILL.md": simplePage("a"),
      "lone/SKILLS.md": simplePage("lone"),
    });
    const state = await load(rootAt(root));
    expect(names(state)).toEqual(["a", "lone"]);
    expect(state.diagnostics.map(({ file, message }) => `${file?.slice(root.length + 1)}: ${message}`)).toEqual([
      expect.stringMatching(/^SKILLS\.md: is treated as an index/),
      expect.stringMatching(/^lone\/SKILLS\.md: expected SKILL\.md/),
      expect.stringMatching(/^set\/SKILLS\.md: is treated as an index/),
    ]);
  });

  it("goes from the project's folders to the user's, plugins, Aegis and configured ones", async () => {
    const root = await tempDir();
    const at = { root: join(root, "project"), home: join(root, "home"), bundled: join(root, "bundled") };
    const { above, below } = skillRoots({ ...at, dirs: ["~/more", "extra", join(root, "abs")] });
    const folders = [...above, ...below].map(({ folder }) => folder);
    for (const folder of folders) writeTree(folder, { "x/SKILL.md": simplePage("x", `from ${folder}`) });
    const plugin = {
      ...parsed(simplePage("x", "from a plugin")),
      source: "plugin",
      plugin: "p",
      file: null,
      folder: null,
      text: "t",
    } as const;
    const order: string[] = [];
    for (;;) {
      const library = new SkillLibrary({ roots: () => ({ above, below }), now: Date.now });
      if (!order.includes("from a plugin")) library.add({ skill: plugin, diagnostics: [] });
      const [skill] = (await library.refresh(never)).skills;
      if (skill === undefined) break;
      order.push(skill.description);
      if (skill.folder !== null) rmSync(skill.folder, { recursive: true });
    }
    expect(order).toEqual([
      ...above.map(({ folder }) => `from ${folder}`),
      "from a plugin",
      ...below.map(({ folder }) => `from ${folder}`),
    ]);
    expect(above.map(({ folder }) => folder.slice(root.length))).toEqual([
      "/project/skills",
      "/project/.agents/skills",
      "/project/.aegis/skills",
      "/project/.claude/skills",
      "/home/.aegis/skills",
      "/home/.agents/skills",
      "/home/.claude/skills",
    ]);
  });

  it("may be behind links to folders, but a page's own link must stay in its folder", async () => {
    const root = await tempDir();
    writeTree(root, {
      "elsewhere/shared/SKILL.md": simplePage("shared"),
      "elsewhere/group/deep/SKILL.md": simplePage("deep"),
      "elsewhere/secret.md": simplePage("secret"),
      "skills/own/real.md": simplePage("own"),
    });
    symlinkSync("../elsewhere/shared", join(root, "skills/shared"));
    symlinkSync("../elsewhere/group", join(root, "skills/group"));
    symlinkSync(".", join(root, "skills/loop"));
    symlinkSync("real.md", join(root, "skills/own/SKILL.md"));
    mkdirSync(join(root, "skills/thief"));
    symlinkSync("../../elsewhere/secret.md", join(root, "skills/thief/SKILL.md"));
    const state = await load(rootAt(join(root, "skills")));
    expect(names(state)).toEqual(["own", "shared"]);
    expect(state.diagnostics.map(({ code, file }) => `${code} ${file?.slice(root.length)}`)).toEqual([
      "containment /skills/group",
      "containment /skills/thief/SKILL.md",
    ]);
  });
});

describe("what is wrong on disk", () => {
  it("costs the skill and nothing else", async () => {
    const root = await tempDir();
    writeTree(root, {
      "good/SKILL.md": simplePage("good"),
      "broken/SKILL.md": "---\nname: broken\n",
      "bytes/SKILL.md": "",
    });
    writeFileSync(join(root, "bytes/SKILL.md"), Buffer.from("---\nname: bytes\ndescription: caf\xe9\n---\n", "latin1"));
    mkdirSync(join(root, "folder/SKILL.md"), { recursive: true });
    mkdirSync(join(root, "pipe"));
    execFileSync("mkfifo", [join(root, "pipe/SKILL.md")]);
    mkdirSync(join(root, "dangling"));
    symlinkSync("nowhere", join(root, "dangling/SKILL.md"));
    const state = await load(rootAt(root));
    expect(names(state)).toEqual(["bytes", "good"]);
    expect(
      state.diagnostics.map(({ level, code, file }) => `${level} ${code} ${file?.slice(root.length + 1)}`).sort(),
    ).toEqual([
      "error quarantine broken/SKILL.md",
      "error unreadable dangling/SKILL.md",
      "error unreadable folder/SKILL.md",
      "error unreadable pipe/SKILL.md",
      "warning repair bytes/SKILL.md",
    ]);
  });

  it.skipIf(process.getuid?.() === 0)("is told of a page that may not be read", async () => {
    const root = await tempDir();
    writeTree(root, { "a/SKILL.md": simplePage("a") });
    chmodSync(join(root, "a/SKILL.md"), 0);
    expect((await load(rootAt(root))).diagnostics).toMatchObject([{ code: "unreadable" }]);
  });

  it("cuts a page that is too long, for its readers and in words", async () => {
    const root = await tempDir();
    writeTree(root, { "long/SKILL.md": `${simplePage("long")}${"é".repeat(147 * 1024)}` });
    const state = await load(rootAt(root));
    const [skill] = state.skills;
    if (skill === undefined) throw new Error("expected a skill");
    expect(state.diagnostics).toMatchObject([
      { level: "warning", code: "cap", message: expect.stringContaining("262144") },
    ]);
    const { text } = readBody(skill, { arguments: null, session: "s", project: root });
    expect(text).toMatch(/é\n\n\[cut: \d+ more bytes; read the file for the rest\]$/);
    expect(text).not.toContain("\uFFFD");
  });

  it("stops at a limit and says so", async () => {
    const root = await tempDir();
    for (let n = 0; n < 30; n++) writeTree(root, { [`s${n}/SKILL.md`]: simplePage(`s${n}`) });
    const limits = { pages: 10, entries: 1_000, depth: 6 };
    const library = new SkillLibrary({ roots: () => ({ above: [rootAt(root)], below: [] }), limits, now: Date.now });
    const state = await library.refresh(never);
    expect(state.skills).toHaveLength(10);
    expect(state.diagnostics).toMatchObject([{ code: "cap", message: expect.stringContaining("at most 10 skills") }]);
  });
});

it("five thousand are all loaded, told of in bounded room, and found", async () => {
  const root = await tempDir();
  const pages = Array.from({ length: 5_000 }, (_, n): [string, string] => {
    return [`skill-${n}.md`, simplePage(`skill-${n}`, `Number ${n}, for when somebody asks about topic${n}`)];
  });
  writeTree(root, Object.fromEntries(pages));
  const state = await load(rootAt(root, { flat: true }));
  expect(state.diagnostics).toEqual([]);
  expect(state.skills).toHaveLength(5_000);
  const { text, size } = buildSkillList(state.skills, {
    budget: 16_000,
    rank: () => 0,
    canLoad: true,
    canSearch: true,
  });
  expect(text.length).toBeLessThan(1.3 * 16_000);
  expect(size.left_out).toBeGreaterThan(0);
  expect(text).toContain(`${size.left_out} more are not listed. If none above fits, \`search_skills\``);
  const [best] = new SkillMatcher(state.skills).match("what about topic4321");
  expect(best?.skill.name).toBe("skill-4321");
});

describe("two skills of one name", () => {
  it("are told of once, unless they are the same", async () => {
    const root = await tempDir();
    writeTree(root, {
      "1/Review/SKILL.md": simplePage("Code Review", "first"),
      "2/other/SKILL.md": simplePage("code-review", "second"),
      "3/same/SKILL.md": simplePage("code-review", "second"),
      "3/copy/SKILL.md": simplePage("twin", "the same"),
      "4/copy/SKILL.md": simplePage("twin", "the same"),
    });
    mkdirSync(join(root, "5"));
    symlinkSync("../1/Review", join(root, "5/link"));
    const state = await load(...["1", "2", "3", "4", "5"].map((name) => rootAt(join(root, name))));
    expect(names(state)).toEqual(["Code Review", "twin"]);
    const collisions = state.diagnostics.filter(({ code }) => code === "collision");
    expect(collisions.map(({ file }) => file?.slice(root.length))).toEqual(["/2/other/SKILL.md", "/3/same/SKILL.md"]);
    expect(state.hidden.get(state.skills[0] as never)?.map(({ description }) => description)).toEqual([
      "second",
      "second",
      "first",
    ]);
  });
});

describe("changes on disk", () => {
  it("are taken over at the next look, and nothing is read again without one", async () => {
    const root = await tempDir();
    writeTree(root, { "a/SKILL.md": simplePage("a", "one"), "group/b/SKILL.md": simplePage("b") });
    const old = new Date(Date.now() - 60_000);
    for (const name of ["a", "group/b"]) utimesSync(join(root, name, "SKILL.md"), old, old);
    let ahead = 0;
    const roots = { above: [rootAt(root)], below: [] };
    const library = new SkillLibrary({ roots: () => roots, now: () => Date.now() + ahead });
    const first = await library.refresh(never);
    // Pages that were written just now are read again; later on they are not.
    ahead = 60;
    await library.refresh(never);
    const steady = await library.refresh(never);
    expect(await library.refresh(never)).toBe(steady);
    ahead = 0;
    expect(names(first)).toEqual(["a", "b"]);
    const look = async () =>
      (await library.refresh(never)).skills.map((skill) => `${skill.name}: ${skill.description}`);

    writeTree(root, { "a/SKILL.md": simplePage("a", "two") });
    expect(await look()).toEqual(["a: two", "b: About b"]);
    writeTree(root, { "a/SKILL.md": simplePage("a", "six") });
    expect(await look()).toEqual(["a: six", "b: About b"]);
    writeTree(root, { "group/c/SKILL.md": simplePage("c") });
    expect(await look()).toEqual(["a: six", "b: About b", "c: About c"]);
    renameSync(join(root, "group"), join(root, "renamed"));
    rmSync(join(root, "a"), { recursive: true });
    expect(await look()).toEqual(["b: About b", "c: About c"]);
    truncateSync(join(root, "renamed/b/SKILL.md"), 12);
    expect(await look()).toEqual(["c: About c"]);
    writeTree(root, { "renamed/b/SKILL.md": simplePage("b", "whole again") });
    expect(await look()).toEqual(["b: whole again", "c: About c"]);
  });

  it("see a root that was not there before", async () => {
    const root = await tempDir();
    const library = libraryOf(rootAt(join(root, "later/skills")));
    expect(names(await library.refresh(never))).toEqual([]);
    writeTree(root, { "later/skills/a/SKILL.md": simplePage("a") });
    expect(names(await library.refresh(never))).toEqual(["a"]);
  });

  it("include what plugins add and take back", async () => {
    const library = libraryOf();
    const undo = library.add(parsePluginSkill({ plugin: "x", name: "p", description: "d: e", content: "t" }));
    expect(names(await library.refresh(never))).toEqual(["p"]);
    undo();
    expect(names(await library.refresh(never))).toEqual([]);
  });
});
