import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { silentLogger } from "../src/log.ts";
import { OverflowFiles } from "../src/overflow.ts";

async function files(limits: { maxFileBytes?: number; maxTotalBytes?: number } = {}) {
  const base = await tempDir();
  const dir = join(base, "overflow");
  return { base, dir, overflow: new OverflowFiles({ dir, shownAs: "shown", log: silentLogger, ...limits }) };
}

it("keeps a text whole, also one that comes in pieces", async () => {
  const { dir, overflow } = await files();
  expect(await overflow.keep("one", "whole")).toBe("shown/one.txt");
  expect(await readFile(join(dir, "one.txt"), "utf8")).toBe("whole");
  const file = overflow.begin("two");
  for (const piece of ["a", "b", "c"]) await file.write(piece);
  expect(await file.close()).toBe("shown/two.txt");
  expect(await readFile(join(dir, "two.txt"), "utf8")).toBe("abc");
});

it("makes no file before there is text", async () => {
  const { base, overflow } = await files();
  expect(await overflow.begin("none").close()).toBeNull();
  expect(await readdir(base)).toEqual([]);
});

it("bounds each file and the folder, and deletes the oldest first", async () => {
  const { dir, overflow } = await files({ maxFileBytes: 100, maxTotalBytes: 250 });
  for (const name of ["a", "b", "c", "d"]) await overflow.keep(name, name.repeat(1_000));
  const left = (await readdir(dir)).sort();
  expect(left).toEqual(["c.txt", "d.txt"]);
  expect(await readFile(join(dir, "d.txt"), "utf8")).toBe("d".repeat(100));
});

it("never writes through a link or over a file", async () => {
  const { base, dir, overflow } = await files();
  await overflow.keep("first", "x");
  await writeFile(join(base, "outside"), "mine");
  await symlink(join(base, "outside"), join(dir, "trap.txt"));
  expect(await overflow.keep("trap", "hostile")).toBe("shown/trap-2.txt");
  expect(await readFile(join(base, "outside"), "utf8")).toBe("mine");
});

it("does without the file when it cannot be written", async () => {
  const { base } = await files();
  await writeFile(join(base, "file"), "");
  const overflow = new OverflowFiles({ dir: join(base, "file", "below"), shownAs: "shown", log: silentLogger });
  expect(await overflow.keep("one", "text")).toBeNull();
});
