/** `aegis plugin …` over the built command: what is there, what is wrong with it, and switching it off and on. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PluginDetail, PluginView } from "@aegis/contract/plugin.ts";
import { aegisProject, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const files = {
  ".aegis.yaml": `${offlineConfig}# how loud it is\nplugins:\n  loud: { volume: 11 } # the loudest\n`,
  ".aegis/plugins/loud/plugin.toml":
    '[plugin]\nname = "loud"\nversion = "0.2.0"\ndescription = "Shouts."\n[config_schema.volume]\ntype = "integer"\nenum = [10, 11]\n',
  ".aegis/plugins/loud/main.ts":
    'import { hook, tool } from "aegis";\nconsole.log("I am up");\nexport const shout = tool({ description: "Shouts", permission: "read" }, () => "HEY");\nexport const seen = hook("post_turn", () => {});\n',
  ".aegis/plugins/quiet.ts": "export const nothing = null;\n",
  ".aegis/plugins/broken.ts": 'import { tool } from "aegis";\nthrow new Error("not today");\n',
};

it("lists, shows, switches, follows and reloads plugins", { tags: "slow", timeout: scaled(60_000) }, async () => {
  const { root, aegis, json, start } = await aegisProject(files);
  const list = await aegis("plugin", "list");
  expect(list.code).toBe(0);
  expect(list.stdout).toMatch(/broken\s+0\.0\.0\s+failed\s+broken\.ts:2: not today/);
  expect(list.stdout).toMatch(/loud\s+0\.2\.0\s+loaded\s+Shouts\./);
  const shown = await aegis("plugin", "show", "loud");
  expect(shown.stdout).toContain("post_turn (seen)");
  expect(shown.stdout).toContain("volume = 11");
  const { plugin } = await json<{ plugin: PluginDetail }>("plugin", "show", "loud");
  expect(plugin.brings.tools).toMatchObject([{ name: "shout", program: false }]);
  const unknown = await aegis("plugin", "show", "lould");
  expect(unknown.code).not.toBe(0);
  expect(unknown.stderr).toContain('did you mean "loud"?');

  const logs = await aegis("plugin", "logs", "loud");
  expect(logs.stdout).toContain("I am up");
  expect(await aegis("plugin", "logs", "quiet")).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining("has logged nothing yet"),
  });
  expect(await aegis("plugin", "logs", "nobody")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no plugin "nobody"'),
  });
  const following = start("plugin", "logs", "quiet", "-f");
  await waitUntil("it waits for the first line", () => following.output.stderr.includes("nothing yet"));
  await writeFile(join(root, ".aegis/plugins/quiet.ts"), 'console.log("not so quiet");\n');
  await following.shows("not so quiet");
  following.child.kill("SIGINT");
  expect((await following.ended).code).toBe(0);

  expect((await aegis("plugin", "disable", "loud")).stdout).toContain("loud is disabled");
  const statusOf = async (name: string) =>
    (await json<{ plugins: PluginView[] }>("plugin", "list")).plugins.find((one) => one.name === name)?.status;
  expect(await statusOf("loud")).toBe("disabled");
  const config = await readFile(join(root, ".aegis.yaml"), "utf8");
  expect(config).toContain("# how loud it is");
  expect(config).toContain("# the loudest");
  expect((await aegis("plugin", "enable", "loud")).code).toBe(0);
  expect(await statusOf("loud")).toBe("loaded");
  expect((await aegis("plugin", "enable", "loud")).stdout).toContain("was enabled already");

  await writeFile(join(root, ".aegis.yaml"), files[".aegis.yaml"].replace("11 }", "12 }"));
  const reason = async () => (await json<{ plugin: PluginDetail }>("plugin", "show", "loud")).plugin.reason;
  await waitUntil("the setting is refused", async () => (await reason()) !== null);
  expect(await reason()).toMatch(
    /the previous one stays active: \.aegis\.yaml:\d+: plugins\.loud\.volume: expected one of 10, 11, found 12/,
  );
  expect((await aegis("plugin", "reload", "broken")).code).not.toBe(0);
});

it("checks a plugin without a daemon, and runs it only when asked to", {
  tags: "slow",
  timeout: scaled(60_000),
}, async () => {
  const { root, aegis, json, daemonPid } = await aegisProject(files);
  const good = await aegis("plugin", "validate", ".aegis/plugins/loud");
  expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining("loud 0.2.0") });
  expect((await aegis("plugin", "validate", ".aegis/plugins/broken.ts")).code).toBe(0);
  const loaded = await aegis("plugin", "validate", ".aegis/plugins/broken.ts", "--load");
  expect(loaded.code).not.toBe(0);
  expect(loaded.stderr).toContain("broken.ts:2: error: not today");
  await writeFile(join(root, ".aegis/plugins/loud/plugin.toml"), '[plugin]\nname = "Loud One"\nversion = "1"\n');
  const bad = await json<{ ok: boolean; plugin: PluginDetail }>("plugin", "validate", ".aegis/plugins/loud");
  expect(bad.ok).toBe(false);
  expect(bad.plugin.diagnostics[0]).toMatchObject({
    file: "plugin.toml",
    line: 2,
    message: expect.stringContaining('such as "loud-one"'),
  });
  expect((await aegis("plugin", "validate", "nowhere")).stderr).toContain("no plugin at");
  expect(await daemonPid()).toBeNull();
});
