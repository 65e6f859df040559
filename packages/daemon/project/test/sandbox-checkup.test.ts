/** What the doctor says about confinement on a machine without bubblewrap. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { checkSandbox } from "../src/sandbox-checkup.ts";

it("names the cause, the fix and what needs a sandbox", async () => {
  const root = await tempDir();
  const agents = "{ dev: { harness: native, sandbox: strict }, free: { harness: native, sandbox: off } }";
  await writeFile(join(root, ".aegis.yaml"), `sandbox: workspace\nagents: ${agents}\n`);
  const { report, needed } = await checkSandbox(root, { HOME: root, PATH: root });
  expect(needed).toEqual(["the project", "agent dev"]);
  expect(report).toMatchObject({ works: false, cause: expect.any(String), fix: expect.any(String) });
});
