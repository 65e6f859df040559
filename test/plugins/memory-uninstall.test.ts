/** The memory-system plugin is uninstalled, with or without what is remembered. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { files, installed, text } from "../helpers/projects/memory.ts";
import { scaled } from "../helpers/slowness.ts";

it("takes its queue and schedule away and leaves what is remembered", { tags: "slow" }, async () => {
  const project = await installed();
  await project.aegis("run", "please remember rivers");
  const result = await project.aegis("plugin", "uninstall", "memory-system", "--yes");
  expect(result.code, result.stderr).toBe(0);
  expect(await text(project, ".aegis.yaml")).toBe(files[".aegis.yaml"]);
  expect(await readdir(join(project.root, ".aegis", "schedules")).catch(() => [])).toEqual([]);
  expect(await text(project, ".aegis/memory/entries/fact_rivers.md")).toContain("rivers is so");
});

it("takes what is remembered along when it is told to", { tags: "slow", timeout: scaled(60_000) }, async () => {
  const project = await installed();
  await project.aegis("run", "please remember rivers");
  const result = await project.aegis("plugin", "uninstall", "memory-system", "--yes", "--purge");
  expect(result.code, result.stderr).toBe(0);
  expect(await readdir(join(project.root, ".aegis/memory"), { recursive: true }).catch(() => [])).not.toContain(
    "entries/fact_rivers.md",
  );
  await expect(text(project, ".aegis/memory/SOUL.md")).rejects.toThrow("ENOENT");
  await expect(readdir(join(project.root, ".aegis/state/plugins/memory-system"))).rejects.toThrow("ENOENT");
});
