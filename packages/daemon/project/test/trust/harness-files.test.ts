/** Files of harnesses that Aegis cannot check: nothing in them may count as agreed to. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { Contents } from "../../src/trust/contents.ts";
import { harnessItems } from "../../src/trust/harness-files.ts";

async function hashesOf(root: string): Promise<Record<string, string>> {
  const items = await harnessItems(root, new Contents());
  return Object.fromEntries(items.map(({ item }) => [item.name, item.hash]));
}

it("has a new hash each time for a pipe, whose content cannot be known", async () => {
  const root = await tempDir();
  mkdirSync(join(root, ".git"));
  execFileSync("mkfifo", [join(root, ".mcp.json")]);
  const [first, second] = [await hashesOf(root), await hashesOf(root)];
  expect(Object.keys(first)).toEqual([".mcp.json"]);
  expect(second[".mcp.json"]).not.toBe(first[".mcp.json"]);
});

it("has nothing to agree to where a link leads nowhere", async () => {
  const root = await tempDir();
  mkdirSync(join(root, ".git"));
  mkdirSync(join(root, ".claude"));
  for (const path of [".codex", ".mcp.json", ".claude/skills", ".claude/settings.json"])
    symlinkSync(path.split("/").at(-1) ?? "", join(root, path));
  expect(await hashesOf(root)).toEqual({});
});

// The administrator may list every folder.
it.skipIf(process.getuid?.() === 0)(
  "has a new hash each time for a folder that hides names that it holds",
  async () => {
    const root = await tempDir();
    mkdirSync(join(root, ".git"));
    for (const path of [".codex/config.toml", ".claude/skills/deploy/SKILL.md"]) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), "");
      chmodSync(dirname(join(root, path)), 0o311);
    }
    const [first, second] = [await hashesOf(root), await hashesOf(root)];
    for (const name of [".codex", ".claude/skills"]) {
      expect(first[name]).toBeDefined();
      expect(second[name]).not.toBe(first[name]);
    }
  },
);
