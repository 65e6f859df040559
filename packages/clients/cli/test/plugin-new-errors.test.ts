/** What `plugin new` refuses, and what it links. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { outputOf } from "@aegis/test/helpers/projects/new-plugin.ts";
import { expect, it } from "vitest";

it("writes over nothing, and says what is wrong with a name or a kind", { tags: "slow" }, async () => {
  const { aegis, root, env } = await aegisProject();
  const folder = join(root, ".aegis", "plugins");
  await mkdir(join(folder, "mine"), { recursive: true });
  await writeFile(join(folder, "mine", "keep.txt"), "kept");
  const taken = await aegis("plugin", "new", "mine");
  expect(taken.code).not.toBe(0);
  expect(taken.stderr).toMatch(/already exists, so nothing was written|has a plugin "mine" already/);
  expect(await readdir(folder)).toEqual(["mine"]);
  expect(await readdir(join(folder, "mine"))).toEqual(["keep.txt"]);
  expect((await aegis("plugin", "new", "../out")).stderr).toContain("expected lower-case letters");
  expect((await aegis("plugin", "new", "enabled")).stderr).toContain("choose another name");
  expect(await aegis("plugin", "new", "x", "--kind", "hok")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('did you mean "hook"?'),
  });
  await mkdir(join(folder, "other"));
  await writeFile(join(folder, "other", "plugin.toml"), '[plugin]\nname = "named"\nversion = "1.0.0"\n');
  expect((await aegis("plugin", "new", "named")).stderr).toContain(
    'already has a plugin "named": .aegis/plugins/other',
  );
  const elsewhere = await aegis("plugin", "new", "far", "--dir", "shelf");
  expect(elsewhere.stdout).toContain("aegis config plugin-dir add shelf");
  expect(await readFile(join(env.HOME ?? "", ".aegis", "trust.json"), "utf8")).not.toContain("far");
});

it("links a plugin to this Aegis, but leaves an installed package alone", { tags: "slow" }, async () => {
  const { aegis, root } = await aegisProject();
  const plugin = join(root, "p");
  await mkdir(join(plugin, "node_modules", "aegis"), { recursive: true });
  await writeFile(join(plugin, "node_modules", "aegis", "package.json"), '{ "name": "aegis" }');
  expect((await aegis("plugin", "link", "p")).stderr).toContain("it was left alone");
  const other = join(root, "q");
  await mkdir(other);
  await writeFile(
    join(other, "x.mjs"),
    'import { tool } from "aegis";\nimport { callTool } from "aegis/testing";\nprocess.stdout.write(await callTool(tool({ description: "x", permission: "read" }, () => "called")));\n',
  );
  for (let round = 0; round < 2; round++) expect((await aegis("plugin", "link", "q")).code).toBe(0);
  expect(await outputOf("node", ["x.mjs"], other)).toEqual({ ok: true, output: "called" });
});
