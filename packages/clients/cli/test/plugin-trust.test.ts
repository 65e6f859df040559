/** Plugins in a folder that came from elsewhere: they are seen and shown, and nothing of them runs before their user agrees. */
import { existsSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { testsUsePostgres } from "@aegis/test/helpers/cluster.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

type Plugin = { name: string; status: string; reason: string | null };
type Detail = { plugin: { brings: { agents: string[]; skills: string[]; commands: { name: string }[] } } };

const marks = (file: string) =>
  `import { writeFileSync } from "node:fs";\nimport { join } from "node:path";\nimport { hook } from "aegis";\n` +
  `writeFileSync(join(import.meta.dirname, "..", "..", "..", "${file}"), "");\n` +
  `export const h = hook("pre_turn", () => ({ block: "${file} was here" }));\n`;

const cloned = {
  ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted }\n",
  ".aegis/plugins/sly/plugin.toml": '[plugin]\nname = "sly"\nversion = "1.0.0"\n',
  ".aegis/plugins/sly/main.ts": marks("ran"),
  ".aegis/plugins.lock": '{ "lock_version": 1, "plugins": {} }',
  ".aegis/plugins/theirs/.claude-plugin/plugin.json": '{ "name": "theirs", "version": "2.0.0" }',
  ".aegis/plugins/theirs/commands/ship.md": "---\ndescription: Ship it\n---\nShip $ARGUMENTS.\n",
  ".aegis/plugins/theirs/agents/shipwright.md": "---\nname: shipwright\ndescription: builds ships\n---\nYou build.\n",
  ".aegis/plugins/theirs/skills/tidy/SKILL.md": "---\nname: tidy\ndescription: how to tidy up\n---\nTidy up.\n",
};

it("runs nothing of a cloned folder's plugins until its user agrees, and only what was agreed to", {
  tags: "slow",
  timeout: scaled(60_000),
}, async () => {
  const { aegis, json, root } = await aegisProject(cloned, { trusted: false });
  const plugins = async () => (await json<{ plugins: Plugin[] }>("plugin", "list")).plugins;
  const statuses = async () => (await plugins()).map(({ name, status }) => `${name} ${status}`);
  expect((await aegis("trust", "--list")).stdout).toMatch(
    /untrusted +plugin sly[\s\S]*code: main\.ts; hooks: pre_turn/,
  );
  expect(await statuses()).toEqual(["sly untrusted", "theirs untrusted"]);
  expect((await aegis("run", "hello")).code).toBe(0);
  expect((await aegis("plugin", "reload", "sly")).code).not.toBe(0);
  expect((await aegis("agent", "list")).stdout).not.toContain("shipwright");
  expect(existsSync(join(root, "ran"))).toBe(false);

  expect((await aegis("plugin", "trust", "theirs", "--yes")).code).toBe(0);
  const { plugin } = await json<Detail>("plugin", "show", "theirs");
  expect(plugin.brings).toMatchObject({ agents: ["shipwright"], commands: [{ name: "ship" }] });
  expect(plugin.brings.skills.join()).toContain("tidy");
  expect(await statuses()).toEqual(["sly untrusted", "theirs loaded"]);

  expect((await aegis("trust", "--yes")).code).toBe(0);
  expect(await statuses()).toEqual(["sly loaded", "theirs loaded"]);
  expect(existsSync(join(root, "ran"))).toBe(true);
  expect((await aegis("run", "hello")).stderr).toContain("ran was here");

  expect((await aegis("trust", "--revoke")).code).toBe(0);
  expect(await statuses()).toEqual(["sly untrusted", "theirs untrusted"]);
  expect((await aegis("run", "hello")).code).toBe(0);

  expect((await aegis("trust", "--yes")).code).toBe(0);
  await writeFile(join(root, ".aegis/plugins/sly/main.ts"), marks("again"));
  await waitUntil("the changed one is refused", async () => (await statuses())[0] === "sly untrusted");
  expect(existsSync(join(root, "again"))).toBe(false);
  expect((await aegis("run", "hello")).code).toBe(0);
});

// Not on PostgreSQL: it needs a folder without a configuration.
it.skipIf(testsUsePostgres)(
  "works in a folder below the user's own, without a configuration",
  { tags: "slow" },
  async () => {
    const { aegis, json, root, env } = await aegisProject({}, { trusted: false });
    env.HOME = dirname(root);
    await mkdir(join(root, ".aegis/plugins"), { recursive: true });
    await writeFile(join(root, ".aegis/plugins/sly.ts"), marks("ran").replace('"..", "..", ', '"..", '));
    expect((await aegis("plugin", "list")).stdout).toMatch(/sly +0\.0\.0 +untrusted/);
    expect((await aegis("trust", "--yes")).stdout).toContain("Trusted: 1 item");
    const { plugins } = await json<{ plugins: Plugin[] }>("plugin", "list");
    expect(plugins).toMatchObject([{ name: "sly", status: "loaded" }]);
    expect(existsSync(join(root, "ran"))).toBe(true);
    expect(existsSync(join(env.HOME, ".aegis/state"))).toBe(false);
  },
);

it("does not call trusted what cannot be trusted as it is", { tags: "slow" }, async () => {
  const { aegis, json, root } = await aegisProject(cloned, { trusted: false });
  const link = join(root, ".aegis/plugins/theirs/notes.md");
  await symlink("/etc/hostname", link);
  for (const command of [
    ["trust", "--yes"],
    ["plugin", "trust", "theirs", "--yes"],
  ]) {
    const { code, stdout, stderr } = await aegis(...command);
    expect(code).toBe(1);
    expect(stdout).not.toContain("Trusted: 2");
    expect(stderr).toMatch(/plugin theirs is still not trusted: .*notes\.md is a link out of its folder/);
  }
  expect(await json("trust", "--yes")).toMatchObject({ ok: false, trusted: [] });
  await rm(link);
  expect(await json("trust", "--yes")).toMatchObject({ ok: true, trusted: [{ name: "theirs" }] });
});
