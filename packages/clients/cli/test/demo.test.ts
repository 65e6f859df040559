// @module-tag slow
import { existsSync } from "node:fs";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { expect, it } from "vitest";

it("plays the whole tour and cleans up", { timeout: scaled(60_000) }, async () => {
  const project = await aegisProject({});
  const { code, stdout, stderr } = await project.aegis("demo");
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(stdout).toContain("kill -9");
  expect(stdout).toContain("The end.");
  expect(stdout).toMatch(/careful[\s\S]*landed on main as [0-9a-f]{12}/);
  expect(stdout).toContain("All 7 steps happened");
  const folder = /\/\S*aegis-demo-\w+/.exec(stdout)?.[0] ?? "";
  expect(folder).not.toBe("");
  expect(existsSync(folder)).toBe(false);
});
