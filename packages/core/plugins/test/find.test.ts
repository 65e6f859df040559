import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { findPlugins, inspectPlugin } from "../src/find.ts";

async function tree(files: Record<string, string>): Promise<string> {
  const dir = await tempDir();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
  return dir;
}

const manifest = (name: string) => JSON.stringify({ name, version: "1.0.0" });

async function found(dir: string, ...dirs: string[]) {
  const plugins = await findPlugins(dirs.map((one) => join(dir, one)));
  return plugins.map(({ name, modules, root }) => [name, modules.map((path) => path.slice(root.length + 1))]);
}

it("takes dirs as configured, plugins and modules by name, and leaves out what is not meant to be loaded", async () => {
  const dir = await tree({
    "two/z.ts": "",
    "one/b/deep/c.ts": "",
    "one/b/a.mjs": "",
    "one/b/_helper.ts": "",
    "one/b/_parts/x.ts": "",
    "one/b/.git/hook.js": "",
    "one/b/node_modules/x/index.js": "",
    "one/b/types.d.ts": "",
    "one/b/a.test.ts": "",
    "one/b/skills/help/scripts/run.js": "",
    "one/a.ts": "",
    "one/_not.ts": "",
    "one/readme.md": "",
    "one/pictures/cat.png": "",
    "one/node_modules/pkg/index.js": "",
  });
  expect(await found(dir, "two", "one", "missing", "one")).toEqual([
    ["z", ["z.ts"]],
    ["a", ["a.ts"]],
    ["b", ["a.mjs", "deep/c.ts"]],
  ]);
});

it("takes a folder with a manifest as the plugin itself, and never its programs as modules", async () => {
  const dir = await tree({
    "mine/plugin.json": JSON.stringify({
      name: "mine",
      tools: [{ name: "t", description: "d", command: "node", args: ["./run.js"] }],
    }),
    "mine/run.js": "",
    "mine/main.js": "",
  });
  expect(await found(dir, "mine")).toEqual([["mine", ["main.js"]]]);
});

it("loads no module of a plugin made for another program", async () => {
  const dir = await tree({ "p/claude/.claude-plugin/plugin.json": '{"name":"claude"}', "p/claude/scripts/run.js": "" });
  expect(await found(dir, "p")).toEqual([["claude", []]]);
});

it("does not follow links out of a plugin", async () => {
  const dir = await tree({ "outside/secret.ts": "", "p/a/plugin.json": manifest("a"), "p/a/own.ts": "" });
  await symlink(join(dir, "outside"), join(dir, "p/a/linked"));
  await symlink(join(dir, "outside/secret.ts"), join(dir, "p/a/secret.ts"));
  const plugin = await inspectPlugin(join(dir, "p/a"));
  expect(plugin.modules.map((path) => path.slice(plugin.root.length + 1))).toEqual(["own.ts"]);
  expect(plugin.diagnostics.map((one) => `${one.file}: ${one.message}`)).toEqual([
    "linked: is a link out of the plugin's folder; it is not loaded",
    "secret.ts: is a link out of the plugin's folder; it is not loaded",
  ]);
});

it("tells names that cannot be, and a folder that is called otherwise", async () => {
  const dir = await tree({ "p/No Name/a.ts": "", "p/other/plugin.json": manifest("mine"), "p/deny.ts": "" });
  const plugins = await findPlugins([join(dir, "p")]);
  expect(
    plugins.map(({ name, manifest: one, diagnostics }) => [name, one?.name ?? null, diagnostics[0]?.level]),
  ).toEqual([
    ["No Name", null, "error"],
    ["deny", null, "error"],
    ["mine", "mine", "warning"],
  ]);
});
