// @module-tag slow
/** A plugin imports nothing from outside its folder: what it runs is what a person agreed to. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { config, type Listed, loaded, withModule } from "@aegis/test/helpers/projects/imports.ts";
import { describe, expect, it } from "vitest";

describe("is refused, with the importing file and the specifier", () => {
  it.each([
    'import { out } from "../../../lib/out.ts";\nexport { out };\n',
    'import { out } from "../../../lib/out";\nexport { out };\n',
    'import data from "../../../lib/data.json" with { type: "json" };\nexport const d = data;\n',
    'import { createRequire } from "node:module";\nexport const c = createRequire(import.meta.url)("../../../lib/common.cjs");\n',
    'export const c = await import("../../../lib/out.ts");\n',
    'export const c = await import(new URL("../../../lib/out.ts", import.meta.url).href);\n',
    'export const c = await import("data:text/javascript,export const a = 1");\n',
    'import "semver";\n',
  ])("%s", async (text) => {
    // A package of the project, not of the plugin.
    const semver = {
      "node_modules/semver/package.json": '{"name":"semver","main":"i.js"}',
      "node_modules/semver/i.js": "",
    };
    const project = await withModule(text, semver);
    expect(await loaded(project)).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/main\.ts.*leads out of the plugin's folder.*imported from/),
    });
  });

  it("in a helper of the plugin, and through a link inside it", async () => {
    const project = await withModule('import "./_helper.ts";\n', {
      ".aegis/plugins/sly/_helper.ts": 'import "../../../lib/out.ts";\n',
    });
    expect((await loaded(project))?.reason).toContain("_helper.ts");
    const linked = await withModule('import "./linked/out.ts";\n');
    await symlink(join(linked.root, "lib"), join(linked.root, ".aegis/plugins/sly/linked"));
    expect((await linked.aegis("trust", "--yes")).code).not.toBe(0);
    expect((await linked.json<Listed>("plugin", "list")).plugins[0]?.reason).toContain("is a link out of its folder");
  });

  it("by a single file, but for the helpers beside it, which are part of it", async () => {
    const file = (specifier: string) =>
      `import { hook } from "aegis";\nimport { x } from "${specifier}";\nexport const h = hook("pre_turn", () => x);\n`;
    const project = await aegisProject(
      { ...config, ".aegis/plugins/one.ts": file("./_x.ts"), ".aegis/plugins/_x.ts": "export const x = null;\n" },
      { trusted: false },
    );
    expect(await loaded(project)).toMatchObject({ status: "loaded" });
    await writeFile(join(project.root, ".aegis/plugins/_x.ts"), "export const x = { block: 'no' };\n");
    expect((await project.json<Listed>("plugin", "reload")).plugins[0]).toMatchObject({ status: "untrusted" });
    await writeFile(join(project.root, ".aegis/plugins/one.ts"), file("./other/x.ts"));
    await mkdir(join(project.root, ".aegis/plugins/other"));
    await writeFile(join(project.root, ".aegis/plugins/other/x.ts"), "export const x = null;\n");
    expect((await project.aegis("trust", "--yes")).code).toBe(0);
    const { plugins } = await project.json<Listed>("plugin", "reload");
    expect(plugins.find(({ name }) => name === "one")).toMatchObject({
      status: "failed",
      reason: expect.stringContaining("leads out of the plugin's folder"),
    });
  });
});
