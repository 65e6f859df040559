import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { findUserKey, openUserKey, userKeyPath } from "../src/user-key.ts";

describe("the user's key", () => {
  it("is made once, private, also by many at the same time", async () => {
    const home = await tempDir();
    expect(await findUserKey(home)).toBeNull();
    const keys = await Promise.all(Array.from({ length: 8 }, () => openUserKey(home)));
    expect(new Set(keys.map((key) => key.sign("state", "x"))).size).toBe(1);
    expect((await stat(userKeyPath(home))).mode & 0o777).toBe(0o600);
    expect(await readdir(join(home, ".aegis"))).toEqual(["key"]);
    const text = await readFile(userKeyPath(home), "utf8");
    await openUserKey(home);
    expect(await readFile(userKeyPath(home), "utf8")).toBe(text);
  });

  it("signs parts for a purpose, and no others", async () => {
    const [key, other] = [await openUserKey(await tempDir()), await openUserKey(await tempDir())];
    const proof = key.sign("state", "a", "b");
    expect(key.verifies(proof, "state", "a", "b")).toBe(true);
    expect(other.verifies(proof, "state", "a", "b")).toBe(false);
    expect(key.verifies(proof, "daemon", "a", "b")).toBe(false);
    for (const parts of [["ab"], ["a", "b", ""], ["a,b"], ["b", "a"], ["a"], []])
      expect(key.verifies(proof, "state", ...parts)).toBe(false);
    for (const wrong of [null, 7, "", `${proof}0`, proof.slice(1), "é".repeat(32), proof.toUpperCase()])
      expect(key.verifies(wrong, "state", "a", "b")).toBe(false);
  });

  it("is refused when others can read it, and when it is no key", async () => {
    const home = await tempDir();
    await openUserKey(home);
    await chmod(userKeyPath(home), 0o640);
    await expect(findUserKey(home)).rejects.toThrow(/can be read by other users .*chmod 600/);
    const other = await tempDir();
    await mkdir(join(other, ".aegis"));
    for (const text of ["", "abc", "g".repeat(64), `${"a".repeat(64)}\n\n`]) {
      await writeFile(userKeyPath(other), text, { mode: 0o600 });
      await expect(openUserKey(other)).rejects.toThrow("is not a key of Aegis");
    }
  });
});
