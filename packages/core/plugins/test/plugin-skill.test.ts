import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { simplePage, writeTree } from "../../skills/test/fixtures.ts";
import { parsePluginSkill } from "../src/plugin-skill.ts";

describe("a skill that a plugin brings", () => {
  it("may be text, whatever is in it", () => {
    const description = 'Say "x": then #y\n---\nname: evil';
    const { skill, diagnostics } = parsePluginSkill({ plugin: "p", name: "a", description, content: "Do it." });
    expect(skill).toMatchObject({ name: "a", plugin: "p", source: "plugin", text: "Do it.", file: null });
    expect(skill?.description).toBe('Say "x": then #y --- name: evil');
    expect(diagnostics).toEqual([]);
  });

  it("may be a page, a folder of its own or not, or one that cannot be read", async () => {
    const root = await tempDir();
    writeTree(root, { "a/SKILL.md": simplePage("a"), "b.md": "Only text." });
    const at = (path: string) => ({ plugin: "p", file: join(root, path), folder: join(root, path, "..") });
    expect(parsePluginSkill(at("a/SKILL.md")).skill).toMatchObject({ name: "a", folder: join(root, "a") });
    expect(parsePluginSkill(at("b.md")).skill).toMatchObject({ name: "b", folder: null, description: "Only text." });
    expect(parsePluginSkill(at("gone.md"))).toMatchObject({ skill: null, diagnostics: [{ code: "unreadable" }] });
  });
});
