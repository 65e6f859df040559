import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { makeZip, renameInZip, type ZipEntry } from "@aegis/test/helpers/zip.ts";
import { describe, expect, test } from "vitest";
import { extractZip } from "../src/safe-extract.ts";
import { TreeRefused } from "../src/tree-rules.ts";

test("unpacks files, folders and the right to run", async () => {
  const dir = await tempDir();
  const zip = makeZip({
    "SKILL.md": "hello",
    "scripts/": "",
    "scripts/run.sh": { content: "#!/bin/sh\n", mode: 0o100755 },
    "scripts/setuid": { content: "x", mode: 0o104755 },
    "ref/äö.md": "text",
  });
  expect(await extractZip(zip, dir)).toEqual({ files: 4, bytes: 20 });
  expect(await readFile(join(dir, "SKILL.md"), "utf8")).toBe("hello");
  expect(await readFile(join(dir, "ref/äö.md"), "utf8")).toBe("text");
  expect((await stat(join(dir, "scripts/run.sh"))).mode & 0o7111).toBe(0o111);
  expect((await stat(join(dir, "scripts/setuid"))).mode & 0o7000).toBe(0);
  expect((await stat(join(dir, "SKILL.md"))).mode & 0o111).toBe(0);
});

test("reads an archive from a file as well", async () => {
  const dir = await tempDir();
  await writeFile(join(dir, "a.zip"), makeZip({ "a.txt": "a" }));
  await mkdir(join(dir, "out"));
  expect(await extractZip(join(dir, "a.zip"), join(dir, "out"))).toEqual({ files: 1, bytes: 1 });
});

describe("refuses, before it writes anything,", () => {
  const zeros = new Uint8Array(4 << 20);
  const cases: [string, Record<string, ZipEntry>, string][] = [
    ["a name that leaves by ..", { "a.txt": "a", "../evil": "x" }, "outside"],
    ["a name that leaves from below", { "a.txt": "a", "a/../../evil": "x" }, "outside"],
    ["an absolute name", { "a.txt": "a", "/etc/evil": "x" }, "outside"],
    ["a drive letter", { "a.txt": "a", "C:evil": "x" }, "outside"],
    ["a backslash", { "a.txt": "a", "..\\evil": "x" }, "bad_name"],
    ["a control character", { "a.txt": "a", "b\u0007.txt": "x" }, "bad_name"],
    ["a name that reads backwards", { "a.txt": "a", "b\u202Etxt.exe": "x" }, "bad_name"],
    ["a device name of Windows", { "a.txt": "a", "sub/NUL.txt": "x" }, "bad_name"],
    ["an empty name", { "a.txt": "a", "b//c": "x" }, "bad_name"],
    ["names that differ in case only", { "a.txt": "a", "A.TXT": "x" }, "collision"],
    ["folders that differ in case only", { "sub/a": "a", "Sub/b": "x" }, "collision"],
    ["names that differ in how letters are composed", { "\u00e9": "a", "e\u0301": "x" }, "collision"],
    ["a file that is also a folder", { a: "a", "a/b": "x" }, "collision"],
    ["a symbolic link", { "a.txt": "a", link: { content: "/etc/passwd", mode: 0o120777 } }, "link"],
    ["a device", { "a.txt": "a", dev: { content: "", mode: 0o020666 } }, "special_file"],
    ["a pipe", { "a.txt": "a", fifo: { content: "", mode: 0o010666 } }, "special_file"],
    ["far more than the archive holds", { "a.txt": "a", bomb: zeros }, "ratio"],
  ];
  test.each(cases)("%s", async (_, entries, problem) => {
    const dir = await tempDir();
    await expect(extractZip(makeZip(entries), dir)).rejects.toMatchObject({ name: "TreeRefused", problem });
    expect(await readdir(dir)).toEqual([]);
  });

  test("two entries of one name", async () => {
    const dir = await tempDir();
    const zip = renameInZip(makeZip({ "a.txt": "a", "b.txt": "x" }), "b.txt", "a.txt");
    await expect(extractZip(zip, dir)).rejects.toMatchObject({ problem: "collision" });
    expect(await readdir(dir)).toEqual([]);
  });

  test.each([
    ["too many files", { limits: { files: 2 } }, "too_many"],
    ["a file that is too large", { limits: { fileBytes: 2 } }, "too_large"],
    ["too much altogether", { limits: { bytes: 5 } }, "too_large"],
    ["too many folders in folders", { limits: { depth: 2 } }, "too_deep"],
  ])("%s", async (_, options, problem) => {
    const zip = makeZip({ a: "aaa", b: "bb", "c/c/c/c": "cc" });
    await expect(extractZip(zip, await tempDir(), options)).rejects.toMatchObject({ problem });
  });
});

test("an entry that holds more than it says is refused, not written on", async () => {
  const dir = await tempDir();
  const zip = makeZip({ "a.txt": "a".repeat(10_000) });
  const central = zip.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
  zip.writeUInt32LE(10, central + 24);
  await expect(extractZip(zip, dir)).rejects.toMatchObject({ problem: "not_a_tree" });
  const left = await stat(join(dir, "a.txt")).then(
    (file) => file.size,
    () => 0,
  );
  expect(left).toBeLessThanOrEqual(10);
});

test.each([
  ["nothing", Buffer.alloc(0)],
  ["text", Buffer.from("PK is what it begins with")],
  ["the first half", makeZip({ a: "a".repeat(1000) }).subarray(0, 60)],
])("%s is no archive", async (_, bytes) => {
  const error = await extractZip(bytes, await tempDir()).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(TreeRefused);
  expect(error).toMatchObject({ problem: "not_a_tree", path: null });
});

test("damaged content is found by its checksum", async () => {
  const zip = makeZip({ "a.txt": Buffer.from(Array.from({ length: 500 }, (_, i) => (i * 7919) % 251)) });
  zip[60] = (zip[60] ?? 0) ^ 0xff;
  await expect(extractZip(zip, await tempDir())).rejects.toMatchObject({ problem: "not_a_tree" });
});

test("stops when it is told to", async () => {
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(extractZip(makeZip({ a: "a" }), await tempDir(), { signal })).rejects.toThrow("enough");
});
