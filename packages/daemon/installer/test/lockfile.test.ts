import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { FilePlan } from "../src/file-plan.ts";
import { type LockEntry, readLock, writeLock } from "../src/lockfile.ts";
import { setUp, writeFiles } from "./skill/set-up.ts";

const place = { base: ".aegis" };
const oldPlugin = {
  version: "1.0.0",
  source: "gh:acme/tools",
  registry: "gh:acme/tools",
  commit: "c0ffee",
  installed_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-02-01T00:00:00.000Z",
  tree: "sha256:11",
  files: { "plugin.toml": "sha256:22" },
  added: [{ kind: "value", path: ["agents", "greeter"], value: { harness: "scripted" }, had: 1 }],
};
const oldSkill = {
  name: "PDF Tools",
  source: "clawhub:pdf-tools",
  version: "2.0.0",
  commit: null,
  hash: "sha256:33",
  installed_at: "2026-03-01T00:00:00.000Z",
  overridden: ["payload.reverse-shell references/x.md:1"],
};
const old = {
  ".aegis/plugins.lock": JSON.stringify({ lock_version: 1, plugins: { hello: oldPlugin } }),
  ".aegis/skills.lock": JSON.stringify({ version: 1, skills: { "pdf-tools": oldSkill } }),
};
const { tree, ...kept } = oldPlugin;
const plugin = { name: "hello", hash: tree, ...kept };
const skill = { ...oldSkill, registry: null, updated_at: oldSkill.installed_at };

async function ground(files: Record<string, string>): Promise<string> {
  const root = await tempDir();
  await writeFiles(root, files);
  return root;
}

it("reads the two lockfiles of version 0.1, with everything that they record", async () => {
  const lock = await readLock(new FilePlan(await ground(old)), place);
  expect(Object.fromEntries(lock.plugin)).toEqual({ hello: plugin });
  expect(Object.fromEntries(lock.skill)).toEqual({ "pdf-tools": skill });
});

it("replaces them in one step with the next change, and keeps every entry", async () => {
  const plan = new FilePlan(await ground(old));
  const entry: LockEntry = { ...skill, name: "notes" };
  await writeLock(plan, place, { kind: "skill", folder: "notes", entry });
  const planned = plan.changes().map(({ path, after }) => [path, after === null ? null : JSON.parse(String(after))]);
  expect(Object.fromEntries(planned)).toEqual({
    ".aegis/packages.lock": {
      lock_version: 2,
      plugins: { hello: plugin },
      skills: { notes: { ...skill, name: "notes" }, "pdf-tools": skill },
    },
    ".aegis/plugins.lock": null,
    ".aegis/skills.lock": null,
  });
});

it("prefers its own entries to those of an old file that came back by a merge", async () => {
  const lock = { lock_version: 2, plugins: { hello: { ...plugin, version: "3.0.0" } }, skills: {} };
  const root = await ground({ ...old, ".aegis/packages.lock": JSON.stringify(lock) });
  const read = await readLock(new FilePlan(root), place);
  expect(read.plugin.get("hello")?.version).toBe("3.0.0");
  expect([...read.skill.keys()]).toEqual(["pdf-tools"]);
});

it("removes the file with the last entry", async () => {
  const plan = new FilePlan(await ground({ ".aegis/skills.lock": old[".aegis/skills.lock"] }));
  await writeLock(plan, place, { kind: "skill", folder: "pdf-tools", entry: null });
  expect(plan.changes().map(({ path, after }) => [path, after])).toEqual([[".aegis/skills.lock", null]]);
});

it.each([
  ["packages.lock", "{"],
  ["packages.lock", '{"lock_version": 3, "plugins": {}, "skills": {}}'],
  ["plugins.lock", '{"lock_version": 2, "plugins": {}}'],
  ["plugins.lock", '{"lock_version": 1, "plugins": {"hello": {}}}'],
  ["skills.lock", "<<<<<<< HEAD\n{}"],
])("refuses an unusable %s: %s", async (file, text) => {
  const root = await ground({ [`.aegis/${file}`]: text });
  await expect(readLock(new FilePlan(root), place)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining(`${file} cannot be used: `),
    hint: expect.stringContaining("version control"),
  });
});

it("migrates the lockfile of the user's own skills too", async () => {
  const { home, installer } = await setUp("http://127.0.0.1:9");
  const skills = { version: 1, skills: { pdf: { ...oldSkill, name: "pdf" }, notes: { ...oldSkill, name: "notes" } } };
  await writeFiles(home, { ".aegis/skills.lock": JSON.stringify(skills) });
  expect(await installer.list()).toMatchObject([
    { name: "pdf", scope: "user", state: "missing", installed_at: oldSkill.installed_at },
    { name: "notes", scope: "user" },
  ]);
  await installer.remove("pdf", { scope: "user", force: false });
  expect((await readdir(join(home, ".aegis"))).filter((name) => name.endsWith(".lock"))).toEqual(["packages.lock"]);
  const lock = JSON.parse(await readFile(join(home, ".aegis/packages.lock"), "utf8"));
  expect(Object.keys(lock.skills)).toEqual(["notes"]);
});
