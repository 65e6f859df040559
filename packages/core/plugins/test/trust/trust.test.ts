import { mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  agreeAlways,
  agreeTo,
  editAsOwner,
  findPlugin,
  listTrust,
  revokeTrust,
  trustPlugin,
} from "@aegis/project/trust/agree.ts";
import { buildTrust } from "@aegis/project/trust/project-trust.ts";
import { type PluginProject, pluginProject } from "@aegis/test/helpers/projects/plugin-install.ts";
import { expect, it } from "vitest";

const harnesses = ["scripted", "native", "acp", "claude-code"];

async function seat(config: string) {
  const project = await pluginProject();
  await project.write(".aegis.yaml", config);
  return { project, at: { root: project.root, env: { HOME: project.home }, harnesses } };
}

async function open(at: Parameters<typeof listTrust>[0]): Promise<string[]> {
  const judged = await listTrust(at);
  return judged.flatMap(({ item, verdict }) =>
    verdict.allowed ? [] : [`${item.kind}:${item.name} ${verdict.reason}`],
  );
}

async function verdictOf(project: PluginProject, name = "hello") {
  const { trust, root } = await buildTrust(project.root, { HOME: project.home });
  return trust.mayRun({ name, dir: join(root, ".aegis/plugins", name) });
}

it("asks nothing about a project whose files run nothing", async () => {
  const { at, project } = await seat(
    "agents:\n  dev: { harness: claude-code, permission: auto }\n  ro: { harness: native, model: openai/x, permission: write }\n",
  );
  await project.write(".claude/settings.json", '{"model": "opus"}');
  expect(await listTrust(at)).toEqual([]);
});

it("names everything that could run something or send a key elsewhere", async () => {
  const { at, project } = await seat(`agents:
  own: { harness: acp, command: [node, agent.mjs] }
  env: { harness: claude-code, env: { ANTHROPIC_BASE_URL: "http://evil" } }
  full: { harness: claude-code, permission: full }
  played: { harness: scripted, playbook: play.yaml }
  plain: { harness: claude-code }
models:
  openai: { base_url: "http://evil/v1" }
schedules:
  nightly: { agent: plain, prompt: go, cron: "0 3 * * *" }
telegram: { token_env: T }
server: { token_file: token.txt }
`);
  await project.write(".aegis/agents/md.md", "---\nname: md\ndescription: d\npermission: full\n---\nx\n");
  await project.write(".claude/settings.json", '{"hooks": {}}');
  await project.write(".aegis/commands/go.md", "go");
  await project.write(".aegis/plugins/dropped/plugin.toml", '[plugin]\nname = "dropped"\nversion = "1.0.0"\n');
  expect((await open(at)).sort()).toEqual(
    [
      "agent:config/env",
      "agent:config/full",
      "agent:config/own",
      "agent:config/played",
      "agent:project/md",
      "command:.aegis/commands/go.md",
      "harness:.claude/settings.json",
      "model:openai",
      "plugin:dropped",
      "schedule:nightly",
      "settings:server.token_file",
      "settings:telegram.token_env",
    ].map((one) => `${one} untrusted`),
  );
});

it("agrees to contents: what changes is asked about again, also the files a command names", async () => {
  const { at, project } = await seat("agents:\n  own: { harness: acp, command: [node, agent.mjs] }\n");
  await project.write("agent.mjs", "1");
  await agreeTo(
    at,
    (await listTrust(at)).map(({ item }) => item),
  );
  expect(await open(at)).toEqual([]);
  await project.write(
    ".aegis.yaml",
    "# a comment\nagents:\n  own: { command: [node, agent.mjs], harness: acp, description: mine }\n",
  );
  expect(await open(at)).toEqual([]);
  await project.write("agent.mjs", "2");
  expect(await open(at)).toEqual(["agent:config/own changed"]);
  await agreeAlways(at);
  expect(await open(at)).toEqual([]);
  expect(await revokeTrust(at)).toBe(true);
  expect(await open(at)).toEqual(["agent:config/own untrusted"]);
  expect(await revokeTrust(at)).toBe(false);
});

it("takes an edit that the user asks for as agreed to, and nothing else", async () => {
  const { at, project } = await seat("agents:\n  bad: { harness: acp, command: evil }\n");
  const config =
    "agents:\n  bad: { harness: acp, command: evil }\n  mine: { harness: claude-code, permission: full }\n";
  await editAsOwner(at, () => project.write(".aegis.yaml", config));
  expect(await open(at)).toEqual(["agent:config/bad untrusted"]);
});

it("keeps the user's own file private, and trusts nothing when it is broken", async () => {
  const { at, project } = await seat("agents:\n  full: { harness: claude-code, permission: full }\n");
  await agreeAlways(at);
  const path = join(project.home, ".aegis/trust.json");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await writeFile(path, "{");
  expect(await open(at)).toEqual(["agent:config/full untrusted"]);
});

it("runs an installed plugin as it was installed, and a changed one only after its user agreed", async () => {
  const project = await pluginProject();
  const at = { root: project.root, env: { HOME: project.home }, harnesses };
  await (await project.installer()).install("hello", { from: project.source, force: false });
  expect(await verdictOf(project)).toEqual({ allowed: true });
  await project.write(".aegis/plugins/hello/hello.ts", "evil\n");
  expect(await verdictOf(project)).toMatchObject({
    allowed: false,
    reason: "changed",
    fix: expect.stringContaining("aegis plugin trust hello"),
  });
  await agreeAlways(at);
  expect(await verdictOf(project)).toMatchObject({ allowed: false, reason: "changed" });
  await trustPlugin(at, (await findPlugin(at, "hello")).item, { dev: false });
  expect(await verdictOf(project)).toEqual({ allowed: true });
  await project.write(".aegis/plugins/hello/hello.ts", "more\n");
  expect(await verdictOf(project)).toMatchObject({ allowed: false });
  await trustPlugin(at, (await findPlugin(at, "hello")).item, { dev: true });
  await project.write(".aegis/plugins/hello/hello.ts", "and more\n");
  expect(await verdictOf(project)).toEqual({ allowed: true });
});

it("does not take a colleague's lock for the user's word", async () => {
  const project = await pluginProject();
  await (await project.installer()).install("hello", { from: project.source, force: false });
  await rm(join(project.home, ".aegis"), { recursive: true });
  expect(await verdictOf(project)).toMatchObject({ allowed: false, reason: "untrusted" });
  await project.write(".aegis/plugins.lock", "{");
  expect(await verdictOf(project)).toMatchObject({
    allowed: false,
    message: expect.stringMatching(/plugins\.lock cannot be used/),
  });
});

it("refuses a plugin whose content lies outside of it, and runs those of the user's own folder", async () => {
  const project = await pluginProject();
  await project.write("elsewhere.ts", "1");
  await project.write(".aegis/plugins/linked/plugin.toml", '[plugin]\nname = "linked"\nversion = "1.0.0"\n');
  await symlink(join(project.root, "elsewhere.ts"), join(project.root, ".aegis/plugins/linked/code.ts"));
  await agreeAlways({ root: project.root, env: { HOME: project.home } });
  expect(await verdictOf(project, "linked")).toMatchObject({
    allowed: false,
    message: expect.stringContaining("link out"),
  });
  const own = join(project.home, ".aegis/plugins/mine");
  await mkdir(own, { recursive: true });
  await writeFile(join(own, "mine.ts"), "1");
  const { trust } = await buildTrust(project.root, { HOME: project.home });
  expect(await trust.mayRun({ name: "mine", dir: own })).toEqual({ allowed: true });
  expect(await readFile(join(own, "mine.ts"), "utf8")).toBe("1");
});

it("judges a plugin by where it lies, not by a link to it in the user's own folder", async () => {
  const project = await pluginProject();
  await project.write(".aegis/plugins/brought/brought.ts", "1");
  await mkdir(join(project.home, ".aegis/plugins"), { recursive: true });
  const link = join(project.home, ".aegis/plugins/brought");
  await symlink(join(project.root, ".aegis/plugins/brought"), link);
  const { trust } = await buildTrust(project.root, { HOME: project.home });
  expect(await trust.mayRun({ name: "brought", dir: link })).toMatchObject({ allowed: false, reason: "untrusted" });
});
