import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { containedPath } from "../src/files.ts";

it("keeps a path in its folder, also through links to what does not exist yet", async () => {
  const [root, outside] = [await tempDir(), await tempDir()];
  await mkdir(join(root, "inner"));
  await symlink(outside, join(root, "out"));
  await symlink(join(outside, "not-there"), join(root, "dangling"));
  await symlink("inner", join(root, "in"));
  expect(await containedPath(root, "new/file")).toBe(join(root, "new/file"));
  expect(await containedPath(root, "in/file")).toBe(join(root, "inner/file"));
  for (const path of ["out", "out/file", "dangling", "dangling/file", "..", "../x", outside])
    expect(await containedPath(root, path), path).toBeNull();
});
