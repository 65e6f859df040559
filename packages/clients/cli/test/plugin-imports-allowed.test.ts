/** What a plugin may import, and `plugin validate`. */
import { dirname } from "node:path";
import { loaded, withModule } from "@aegis/test/helpers/projects/imports.ts";
import { expect, it } from "vitest";

it("may import its own files, its own packages, aegis and modules of Node", { tags: "slow" }, async () => {
  const files = {
    ".aegis/plugins/sly/deep/_a.ts": 'export { b } from "../_b.js";\n',
    ".aegis/plugins/sly/_b.ts": "export const b = 1;\n",
    ".aegis/plugins/sly/node_modules/own/package.json": '{ "name": "own", "main": "index.js" }',
    ".aegis/plugins/sly/node_modules/own/index.js": 'module.exports = require("node:path").sep;\n',
  };
  const text =
    'import { readFileSync } from "node:fs";\nimport fs from "fs";\nimport { hook, z } from "aegis";\nimport own from "own";\nimport { b } from "./deep/_a.ts";\n' +
    'export const h = hook("pre_turn", () => ({ prependSystem: z.string().parse(own + b + typeof readFileSync + typeof fs) }));\n';
  const project = await withModule(text, files);
  expect(await loaded(project)).toMatchObject({ status: "loaded", reason: null });
  expect((await project.aegis("run", "hello")).stdout).not.toBe("");
  expect((await project.aegis("plugin", "validate", ".aegis/plugins/sly")).code).toBe(0);
});

it("`plugin validate` names such imports without loading anything", async () => {
  const project = await withModule(
    '// first\nimport { out } from "../../../lib/out.ts";\nimport left from "left-pad";\nexport { out, left };\n',
  );
  const { code, stderr } = await project.aegis("plugin", "validate", dirname(".aegis/plugins/sly/main.ts"));
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/main\.ts:2: error: "\.\.\/\.\.\/\.\.\/lib\/out\.ts" leads out/);
  expect(stderr).toMatch(/main\.ts:3: error: the package "left-pad" is not in the plugin's own node_modules/);
});
