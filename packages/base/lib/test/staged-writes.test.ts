import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, watch, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diskDir, tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it, onTestFinished } from "vitest";
import { StagedWrites } from "../src/staged-writes.ts";

it("replaces a file with its mode, and nothing else appears in its folder", async () => {
  const [state, project] = [join(await tempDir(), "state", "writes"), await tempDir()];
  const seen: (string | null)[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    for await (const { filename } of watch(project, { signal: stop.signal })) {
      seen.push(filename);
      if (filename === "end") return;
    }
  })();
  const { write } = new StagedWrites(state);
  await write(join(project, "a.md"), "one", { mode: 0o755 });
  await write(join(project, "a.md"), Buffer.from("two"), { mode: 0o755 });
  await writeFile(join(project, "end"), "");
  await watching;
  expect(new Set(seen)).toEqual(new Set(["a.md", "end"]));
  expect(await readFile(join(project, "a.md"), "utf8")).toBe("two");
  expect((await stat(join(project, "a.md"))).mode & 0o777).toBe(0o755);
  expect(await readdir(state)).toEqual([]);
});

it("leaves nothing after a write that fails", async () => {
  const [state, project] = [await tempDir(), await tempDir()];
  await mkdir(join(project, "folder"));
  await expect(new StagedWrites(state).write(join(project, "folder"), "x")).rejects.toThrow();
  await expect(new StagedWrites(state).write(join(project, "missing", "a"), "x")).rejects.toThrow("ENOENT");
  expect(await readdir(state)).toEqual([]);
});

it("removes what a killed process left, but no file that it did not create", async () => {
  const [state, project] = [await tempDir(), await tempDir()];
  for (const name of [".a.md.0123456789ab.tmp", "kept.md", ".b.md.other.tmp"])
    await writeFile(join(project, name), "x");
  await writeFile(join(state, "0123456789ab.tmp"), "x");
  await symlink(join(project, ".a.md.0123456789ab.tmp"), join(state, "0123456789ab.copy"));
  await symlink(join(project, "kept.md"), join(state, "aaaaaaaaaaaa.copy"));
  await symlink(join(project, ".b.md.other.tmp"), join(state, "bbbbbbbbbbbb.copy"));
  await symlink(join(project, "gone", ".c.md.cccccccccccc.tmp"), join(state, "cccccccccccc.copy"));
  await new StagedWrites(state).recover();
  expect((await readdir(project)).sort()).toEqual([".b.md.other.tmp", "kept.md"]);
  expect(await readdir(state)).toEqual([]);
  await new StagedWrites(join(state, "missing")).recover();
});

const memory = "/dev/shm";
const other = await stat(memory).catch(() => null);
const here = await stat(tmpdir());
it.skipIf(other === null || other.dev === here.dev)("writes to another file system", async () => {
  const state = await diskDir();
  const project = await mkdtemp(join(memory, "aegis-"));
  onTestFinished(() => rm(project, { recursive: true }));
  const { write } = new StagedWrites(state);
  await write(join(project, "a.md"), "one");
  await write(join(project, "a.md"), "two");
  expect(await readFile(join(project, "a.md"), "utf8")).toBe("two");
  expect(await readdir(project)).toEqual(["a.md"]);
  expect(await readdir(state)).toEqual([]);
});
