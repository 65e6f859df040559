/** Plugins by command: installed from a folder, searched, updated, taken away, with a daemon that notices. */
import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const files = {
  ".aegis.yaml": `# kept\n${offlineConfig}`,
  "shelf/hello/plugin.toml":
    '[plugin]\nname = "hello"\nversion = "1.0.0"\ndescription = "Says hello"\n[default_config]\ntone = "warm"\n',
  "shelf/hello/hello.ts": 'import { hook } from "aegis";\nexport const greet = hook("pre_turn", async () => null);\n',
  "shelf/hello/_install.ts": `import type { InstallContext } from "aegis";
export async function install(ctx: InstallContext) {
  if (await ctx.confirm("A helper?", { default: true })) await ctx.edit.addAgent("greeter", { harness: "scripted" });
}
`,
};

type Plugins = { plugins: { name: string; status: string }[] };

it("installs after --yes only, shows what would run, updates and uninstalls", async () => {
  const { aegis, json, root } = await aegisProject(files, { trusted: false });
  const before = await readFile(join(root, ".aegis.yaml"), "utf8");
  const refused = await aegis("plugin", "install", "hello", "--from", "./shelf/hello");
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(/runs at install +_install\.ts[\s\S]*hooks +pre_turn/);
  expect(refused.stderr).toContain("agree with --yes");
  await expect(access(join(root, ".aegis/plugins"))).rejects.toThrow("ENOENT");

  const done = await aegis("plugin", "install", "hello", "--from", "./shelf/hello", "--yes");
  expect(done.stdout).toContain("Installed hello 1.0.0.");
  expect(done.stdout).toContain("Added to the project: plugins.hello.tone, agents.greeter");
  expect(await readFile(join(root, ".aegis.yaml"), "utf8")).toMatch(/^# kept\n[\s\S]*greeter:[\s\S]*tone: warm/);
  expect((await aegis("plugin", "install", "hello", "--from", "./shelf/hello", "--yes")).stderr).toContain(
    "already exists",
  );
  expect((await aegis("plugin", "update", "--yes")).stdout).toContain("hello 1.0.0 is up to date.");

  await writeFile(join(root, "shelf/hello/hello.ts"), `${files["shelf/hello/hello.ts"]}// more\n`);
  const updated = await json<Plugins>("plugin", "update", "hello", "--yes");
  expect(updated.plugins).toEqual([expect.objectContaining({ name: "hello", changed: true })]);
  expect((await aegis("plugin", "uninstall", "hello", "--yes")).stdout).toContain("Uninstalled hello.");
  expect(await readFile(join(root, ".aegis.yaml"), "utf8")).toBe(before);
  expect((await aegis("plugin", "uninstall", "hello", "--yes")).stderr).toContain(
    'no plugin "hello" was installed here',
  );
});

it("searches registries, also the one that comes with Aegis", async () => {
  const { json } = await aegisProject({ ...files, ".aegis.yaml": `${offlineConfig}plugin_registries: [shelf]\n` });
  const { plugins } = await json<{ plugins: { name: string; registry: string }[] }>("plugin", "search");
  expect(plugins).toContainEqual(expect.objectContaining({ name: "hello", registry: "shelf" }));
  expect(plugins).toContainEqual(expect.objectContaining({ name: "memory-system", registry: "bundled" }));
});

it("is noticed by a running daemon, which refuses the plugin once its files were changed", {
  tags: "slow",
}, async () => {
  const { aegis, json, root } = await aegisProject(files, { trusted: false });
  await aegis("up");
  await aegis("plugin", "install", "hello", "--from", "./shelf/hello", "--yes");
  const status = async () =>
    (await json<Plugins>("plugin", "list")).plugins.find(({ name }) => name === "hello")?.status;
  expect(await status()).toBe("loaded");
  await writeFile(join(root, ".aegis/plugins/hello/hello.ts"), "export const evil = 1;\n");
  await waitUntil("the changed plugin is refused", async () => (await status()) === "untrusted", 20_000);
  const trusted = await aegis("plugin", "trust", "hello", "--yes");
  expect(trusted.stdout).toContain("hello is trusted in its current version.");
  await waitUntil("it is loaded again", async () => (await status()) === "loaded", 20_000);
  await aegis("plugin", "uninstall", "hello", "--yes");
  expect(await status()).toBeUndefined();
});
