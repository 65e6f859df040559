/** Which files count as part of a plugin, and so as part of what a person agreed to. */
import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { type Boundary, ImportGuard } from "../src/worker/boundary.ts";

async function plugin(more: (root: string) => Partial<Boundary> = () => ({})) {
  const dir = await realpath(await tempDir());
  const root = join(dir, "plugin");
  await mkdir(join(root, "__pycache__"), { recursive: true });
  for (const path of ["out.ts", "plugin/main.ts", "plugin/other.ts", "plugin/_helper.ts", "plugin/__pycache__/x.pyc"])
    await writeFile(join(dir, path), "");
  const guard = new ImportGuard({ root, ...more(root) }, ["file:///aegis/api.js"]);
  const from = (path: string) => pathToFileURL(join(root, path)).href;
  const check = (path: string) => () => guard.check(path, from(path), from("main.ts"));
  return { dir, root, guard, check, from };
}

it("lets a plugin import its own files, modules of Node and Aegis's interface", async () => {
  const { guard, check, from } = await plugin();
  expect(check("other.ts")).not.toThrow();
  expect(() => guard.check("node:fs", "node:fs", from("main.ts"))).not.toThrow();
  expect(() => guard.check("aegis", "file:///aegis/api.js", from("main.ts"))).not.toThrow();
});

it("refuses a file outside, by its path and by a link in the folder or above the file", async () => {
  const { dir, root, check } = await plugin();
  await symlink(join(dir, "out.ts"), join(root, "link.ts"));
  await symlink(dir, join(root, "above"));
  for (const path of ["../out.ts", "link.ts", "above/out.ts"]) expect(check(path)).toThrow("leads out of the plugin");
  // A link that leads back inside is a name for one of its own files.
  expect(check("above/plugin/other.ts")).not.toThrow();
});

it("refuses caches, data in an address, and addresses elsewhere", async () => {
  const { guard, check, from } = await plugin();
  expect(check("__pycache__/x.pyc")).toThrow("leads out of the plugin");
  for (const url of ["data:text/javascript,1", "https://evil.example/x.js"])
    expect(() => guard.check(url, url, from("main.ts"))).toThrow("leads out of the plugin");
});

it("lets a plugin of one file import the helpers beside it, and not its neighbours", async () => {
  const { check } = await plugin((root) => ({ single: join(root, "main.ts") }));
  expect(check("main.ts")).not.toThrow();
  expect(check("_helper.ts")).not.toThrow();
  expect(check("other.ts")).toThrow("leads out of the plugin");
});
