import { mkdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { Contents } from "../../src/trust/contents.ts";

/** Long after all writes of the test. */
const later = () => Date.now() + 60_000;

it("sees a change of the same length at the same time, however soon it comes", async () => {
  const dir = await tempDir();
  const file = join(dir, "agent.mjs");
  const contents = new Contents();
  const hashes = new Set<string | null>();
  for (const text of ["aaaa", "bbbb", "cccc"]) {
    await writeFile(file, text);
    await utimes(file, 1, 1);
    hashes.add(await contents.named(dir, "agent.mjs"));
  }
  expect(hashes.size).toBe(3);
});

it("sees a changed file although its times were set back", async () => {
  const dir = await tempDir();
  const file = join(dir, "agent.mjs");
  const contents = new Contents({ now: later });
  await writeFile(file, "aaaa");
  await utimes(file, 1, 1);
  const before = await contents.named(dir, "agent.mjs");
  expect(await contents.named(dir, "agent.mjs")).toBe(before);
  await writeFile(join(dir, "new"), "bbbb");
  await utimes(join(dir, "new"), 1, 1);
  await rename(join(dir, "new"), file);
  expect(await contents.named(dir, "agent.mjs")).not.toBe(before);
});

it("reads a file that rests once, and one that was just written each time", async () => {
  const dir = await tempDir();
  await writeFile(join(dir, "agent.mjs"), "aaaa");
  const reads = async (now?: () => number) => {
    let count = 0;
    const read = (path: string) => {
      count += 1;
      return readFile(path);
    };
    const contents = new Contents({ read, ...(now === undefined ? {} : { now }) });
    for (let times = 0; times < 3; times++) await contents.named(dir, "agent.mjs");
    return count;
  };
  expect(await reads(later)).toBe(1);
  expect(await reads()).toBe(3);
});

it("follows links: where they lead and what is there counts, inside of the project and elsewhere", async () => {
  const [dir, outside] = [await tempDir(), await tempDir()];
  for (const [place, name] of [
    [outside, "one"],
    [outside, "two"],
    [dir, "own"],
  ] as const)
    await writeFile(join(place, name), name === "two" ? "one" : name);
  const contents = new Contents();
  const seen: (string | null)[] = [];
  for (const target of [join(outside, "one"), join(outside, "two"), "own", "missing"]) {
    await rm(join(dir, "link"), { force: true });
    await symlink(target, join(dir, "link"));
    seen.push(await contents.named(dir, "link"));
  }
  expect(new Set(seen).size).toBe(4);
  expect(seen[3]).toBeNull();
  await rm(join(dir, "link"));
  await symlink(join(outside, "one"), join(dir, "link"));
  await writeFile(join(outside, "one"), "changed");
  expect(await contents.named(dir, "link")).not.toBe(seen[0]);
});

it("counts what lies behind the links of a folder", async () => {
  const dir = await tempDir();
  await mkdir(join(dir, ".codex"));
  await writeFile(join(dir, "shared.toml"), "a = 1");
  await symlink("../shared.toml", join(dir, ".codex/config.toml"));
  await symlink("..", join(dir, ".codex/up"));
  const contents = new Contents();
  const before = await contents.tree(join(dir, ".codex"));
  expect(await contents.tree(join(dir, ".codex"))).toBe(before);
  await writeFile(join(dir, "shared.toml"), "a = 2");
  expect(await contents.tree(join(dir, ".codex"))).not.toBe(before);
});

it("takes the hash of bytes that were read already, and nothing outside of the project by its path", async () => {
  const dir = await tempDir();
  await writeFile(join(dir, "play.yaml"), "now");
  const contents = new Contents({ given: new Map([[join(dir, "play.yaml"), "sha256:given"]]) });
  expect(await contents.named(dir, "play.yaml")).toBe("sha256:given");
  for (const path of ["/etc/hosts", "../x", "-e", "a\0b", "missing", "."])
    expect(await contents.named(dir, path), path).toBeNull();
  expect(await readFile(join(dir, "play.yaml"), "utf8")).toBe("now");
});
