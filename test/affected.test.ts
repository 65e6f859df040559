/** `npm run test:affected` on a small tree. */
import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { tempDir } from "./helpers/temp-dir.ts";

const script = fileURLToPath(new URL("../scripts/affected.mjs", import.meta.url));
const manifest = (name: string, ...needs: string[]) =>
  JSON.stringify({
    name: `@aegis/${name}`,
    dependencies: Object.fromEntries(needs.map((id) => [`@aegis/${id}`, "*"])),
  });

it("chooses the tests of changed packages, their dependents, and tests that import one of them", async () => {
  const root = await tempDir();
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  const run = (file: string, ...args: string[]) => execFileSync(file, args, { cwd: root, encoding: "utf8" });
  const list = () => run(process.execPath, script, "HEAD", "--list").trim().split("\n");
  const files = {
    "packages/base/lib/package.json": manifest("lib"),
    "packages/base/lib/test/a.test.ts": "",
    "packages/base/store/package.json": manifest("store", "lib"),
    "packages/base/store/test/a.test.ts": "",
    "packages/core/sessions/package.json": manifest("sessions", "store"),
    "packages/core/sessions/test/a.test.ts": "",
    "packages/core/skills/package.json": manifest("skills", "lib"),
    "packages/core/skills/test/a.test.ts": 'import { x } from "@aegis/sessions/x.ts";',
    "packages/core/agents/package.json": manifest("agents", "lib"),
    "packages/core/agents/test/a.test.ts": "",
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  run("git", "init", "--quiet");
  run("git", "add", ".");
  run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "first");
  expect(list()).toEqual(["test/architecture.test.ts"]);
  await write("packages/base/store/src/x.ts", "");
  await write("README.md", "");
  expect(list()).toEqual([
    "packages/base/store/test",
    "packages/core/sessions/test",
    "packages/core/skills/test",
    "test/architecture.test.ts",
  ]);
  await write("test/helpers/x.ts", "");
  expect(list()).toEqual(["everything"]);
});
