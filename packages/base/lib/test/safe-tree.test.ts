import { chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, onTestFinished, test } from "vitest";
import { copyTree, listTree, treeHash } from "../src/safe-tree.ts";

async function tree(files: Record<string, string>): Promise<{ from: string; to: string }> {
  const base = await tempDir();
  const [from, to] = [join(base, "from"), join(base, "to")];
  await mkdir(to);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(from, path, ".."), { recursive: true });
    await writeFile(join(from, path), text);
  }
  return { from, to };
}

test("copies files and the right to run, leaves out what is named", async () => {
  const { from, to } = await tree({ "SKILL.md": "a", "s/run.sh": "b", ".git/config": "c", "s/.git": "d" });
  await chmod(join(from, "s/run.sh"), 0o755);
  expect(await copyTree(from, to, { skip: [".git"] })).toEqual({ files: 2, bytes: 2 });
  expect(await listTree(to)).toEqual(["SKILL.md", "s/run.sh"]);
  expect(await treeHash(to)).toBe(await treeHash(from, { skip: [".git"] }));
});

test("a link to a file inside becomes that file", async () => {
  const { from, to } = await tree({ "a.md": "text", "sub/b.md": "b" });
  await symlink("../a.md", join(from, "sub/link.md"));
  await copyTree(from, to);
  expect((await readdir(join(to, "sub"), { withFileTypes: true })).every((entry) => entry.isFile())).toBe(true);
  expect(await readFile(join(to, "sub/link.md"), "utf8")).toBe("text");
});

test("the folder itself may be a link", async () => {
  const { from, to } = await tree({ "a.md": "text" });
  await symlink(from, `${from}-link`);
  expect(await copyTree(`${from}-link`, to)).toEqual({ files: 1, bytes: 4 });
});

test.each([
  ["out of the folder", "/etc/hostname"],
  ["out by ..", "../../secret"],
  ["to a folder", "sub"],
  ["to nothing", "missing"],
  ["to itself", "link"],
  ["into what is left out", ".git/config"],
])("a link %s is refused", async (_, target) => {
  const { from, to } = await tree({ "a.md": "text", "sub/b.md": "b", ".git/config": "c" });
  await writeFile(join(from, "../../secret"), "s").catch(() => {});
  await symlink(target, join(from, "link"));
  await expect(copyTree(from, to, { skip: [".git"] })).rejects.toMatchObject({ name: "TreeRefused", problem: "link" });
});

test("a socket is refused instead of waited for", async () => {
  const { from, to } = await tree({ "a.md": "text" });
  const server = createServer().listen(join(from, "socket"));
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  await expect(copyTree(from, to)).rejects.toMatchObject({ problem: "special_file" });
});

test("limits hold for folders as for archives", async () => {
  const { from, to } = await tree({ a: "aaa", b: "b" });
  await expect(copyTree(from, to, { limits: { files: 1 } })).rejects.toMatchObject({ problem: "too_many" });
  await expect(copyTree(from, to, { limits: { fileBytes: 2 } })).rejects.toMatchObject({ problem: "too_large" });
});

test("a tree of too many files is refused before any of it is copied", async () => {
  const { from, to } = await tree({ a: "a", "sub/b": "b", "sub/deep/c": "c", ".git/d": "d" });
  const copy = (files: number) => copyTree(from, to, { limits: { files }, skip: [".git"] });
  await expect(copy(2)).rejects.toMatchObject({ problem: "too_many", path: null, message: "more than 2 files" });
  expect(await listTree(to)).toEqual([]);
  expect(await copy(3)).toMatchObject({ files: 3 });
});

test("a file is no folder", async () => {
  const { from, to } = await tree({ a: "a" });
  await expect(copyTree(join(from, "a"), to)).rejects.toMatchObject({ problem: "not_a_tree" });
});

test("the hash tells every kind of change apart, and nothing else", async () => {
  const { from } = await tree({ a: "1", "b/c": "2" });
  const seen = new Set([await treeHash(from)]);
  const isNew = async () => {
    const before = seen.size;
    return seen.add(await treeHash(from)).size > before;
  };
  await mkdir(join(from, "empty"));
  expect(await isNew()).toBe(false);
  await writeFile(join(from, "a"), "3");
  expect(await isNew()).toBe(true);
  await chmod(join(from, "a"), 0o755);
  expect(await isNew()).toBe(true);
  await writeFile(join(from, "b/d"), "");
  expect(await isNew()).toBe(true);
  await symlink("a", join(from, "link"));
  expect(await isNew()).toBe(true);
  expect(await treeHash(from)).toMatch(/^sha256:[0-9a-f]{64}$/);
});

test("content cannot pass for another file", async () => {
  const one = await tree({ a: "x", b: "y" });
  const other = await tree({ a: "xfile 1 1\nb\ny" });
  expect(await treeHash(one.from)).not.toBe(await treeHash(other.from));
});
