/** `aegis mcp install` as a person types it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { expect, it } from "vitest";

it("names the nearest program, and the scopes that a program has", async () => {
  const project = await aegisProject();
  const wrong = await project.aegis("mcp", "install", "cursr");
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean "cursor"?') });
  const scope = await project.aegis("mcp", "install", "claude-desktop", "--scope", "project");
  expect(scope).toMatchObject({ code: 2, stderr: expect.stringContaining("use --scope user") });
});

it("shows the change, needs a confirmation, and writes the file", async () => {
  const project = await aegisProject();
  const asked = await project.aegis("mcp", "install", "cursor");
  expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
  const file = join(project.env.HOME ?? "", ".cursor/mcp.json");
  await expect(readFile(file, "utf8")).rejects.toMatchObject({ code: "ENOENT" });
  expect(await project.aegis("mcp", "install", "cursor", "--yes")).toMatchObject({ code: 0, stderr: "" });
  expect(await readFile(file, "utf8")).toContain(project.root);
});

it("warns where there is no project", async () => {
  const empty = await aegisProject({});
  const { code, stderr } = await empty.aegis("mcp", "install", "cursor", "--print");
  expect(code).toBe(0);
  expect(stderr).toContain("is not a project yet");
});
