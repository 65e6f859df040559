// @module-tag slow
/** The programs beside the product that the documentation names run to their end. Their figures are not judged. */
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { scaled } from "./helpers/slowness.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const benches = readdirSync(join(root, "bench", "cases")).map((file) => basename(file, ".ts"));
const options = { timeout: scaled(300_000) };

async function run(program: string, ...argv: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, program), ...argv], { cwd: root });
  return stdout;
}

it.each(benches)("bench --quick --only %s", options, async (name) => {
  const { figures } = JSON.parse(await run("bench/main.ts", "--quick", "--json", "--only", name));
  expect(figures.length).toBeGreaterThan(0);
});

it("fuzz", options, async () => {
  expect(await run("fuzz/main.ts", "--seconds", "2")).toMatch(/^ok /);
});

it.each([[], ["--of", "commits"], ["--of", "claims"], ["--of", "landings"]])(
  "chaos --rounds 2 %s %s",
  options,
  async (...of) => {
    await run("chaos/main.ts", "--rounds", "2", "--every", "200", "--agents", "4", ...of);
  },
);
