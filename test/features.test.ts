/** Each feature has a case of `npm test` that drives the built program. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { features } from "./features.ts";
import { tempDir } from "./helpers/temp-dir.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The cases of the files that `npm test` runs, found without running them. */
async function casesOf(files: readonly string[]): Promise<{ file: string; name: string }[]> {
  const list = join(await tempDir(), "cases.json");
  const argv = ["node_modules/vitest/vitest.mjs", "list", "--tags-filter=!slow", `--json=${list}`, ...files];
  const { status, stderr } = spawnSync(process.execPath, argv, { cwd: root, encoding: "utf8" });
  expect(stderr.replaceAll(/^npm warn .*\n/gm, "")).toBe("");
  expect(status).toBe(0);
  return JSON.parse(readFileSync(list, "utf8"));
}

it("is proven for every feature by a quick case that drives the built program", { tags: "slow" }, async () => {
  const found = await casesOf([...new Set(features.map(({ file }) => file))]);
  const missing = features.filter(
    ({ file, name }) => !found.some((one) => one.file.endsWith(file) && one.name.endsWith(name)),
  );
  expect(missing).toEqual([]);
});
