// @module-tag slow
/** Installs over a git server of this machine, which stands for the one that `gh:` means. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type GitRepo, gitRepo } from "@aegis/test/helpers/git-repo.ts";
import { gitServer } from "@aegis/test/helpers/git-server.ts";
import {
  firstVersion,
  type PluginProject,
  pluginProject,
  secondVersion,
} from "@aegis/test/helpers/projects/plugin-install.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";

async function hosted(files: Record<string, string>): Promise<{ repo: GitRepo; url: string }> {
  const [repo, folder] = [await gitRepo(files), await tempDir()];
  const path = join(folder, "acme", "tools.git");
  await mkdir(dirname(path));
  await symlink(join(repo.dir, ".git"), path);
  return { repo, url: await gitServer(folder) };
}

function below(folder: string, files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [join(folder, path), text]));
}

function installerOf(project: PluginProject, url: string) {
  return project.installer({ env: { HOME: project.home, PATH: process.env.PATH, AEGIS_GITHUB_URL: url } });
}

it("installs from gh:, records the commit, and follows the branch when it updates", async () => {
  const { repo, url } = await hosted(below("plugins/hello", firstVersion));
  const first = await repo.git("rev-parse", "HEAD");
  const project = await pluginProject({});
  const installer = await installerOf(project, url);
  expect(await installer.install("hello", { from: "gh:acme/tools", force: false })).toMatchObject({ commit: first });
  expect((await installer.installed()).get("hello")).toMatchObject({
    source: "gh:acme/tools",
    commit: first,
    version: "1.0.0",
  });
  expect(await installer.update("hello", { force: false })).toMatchObject({ changed: false });
  const second = await repo.commit(below("plugins/hello", secondVersion));
  expect(await installer.update("hello", { force: false })).toMatchObject({
    changed: true,
    commit: second,
    version: "1.1.0",
  });
  expect(await project.read(".aegis/plugins/hello/more.ts")).toBe(secondVersion["more.ts"]);
});

it("takes a ref and a path, keeps to a tag, and installs a repository that is one plugin", async () => {
  const { repo, url } = await hosted({ ...firstVersion, ...below("deep/down/hello", firstVersion) });
  const tagged = await repo.git("rev-parse", "HEAD");
  await repo.git("tag", "v1");
  await repo.commit({ ...secondVersion, ...below("deep/down/hello", secondVersion) });
  const project = await pluginProject({});
  const installer = await installerOf(project, url);
  const pinned = await installer.install("hello", { from: "gh:acme/tools@v1#deep/down/hello", force: false });
  expect(pinned).toMatchObject({ commit: tagged, version: "1.0.0" });
  expect(await installer.update("hello", { force: false })).toMatchObject({ changed: false });
  const whole = await installer.install("hello", { from: "gh:acme/tools", force: true });
  expect(whole).toMatchObject({ version: "1.1.0" });
  expect(await installer.install("hello", { from: `git+file://${repo.dir}@${tagged}`, force: true })).toMatchObject({
    version: "1.0.0",
  });
});

it("says what is missing, and changes nothing", async () => {
  const { repo, url } = await hosted(below("plugins/hello", firstVersion));
  await repo.git("branch", "-m", "main", "trunk");
  const project = await pluginProject({});
  const before = await project.snapshot();
  const installer = await installerOf(project, url);
  const failing = (from: string, name = "hello") => installer.install(name, { from, force: false });
  await expect(failing("gh:acme/tools")).rejects.toThrow(/no branch, tag or commit "main"/);
  await expect(failing("gh:acme/nothing")).rejects.toThrow(/could not be fetched/);
  await expect(failing("gh:acme/tools@trunk", "other")).rejects.toThrow(/no plugin "other" at gh:acme\/tools@trunk/);
  await expect(failing("gh:acme/tools@trunk#no/where")).rejects.toThrow(/no plugin "hello"/);
  await expect(failing("git+http://127.0.0.1:1/x")).rejects.toThrow(/could not be fetched/);
  expect(await project.snapshot()).toEqual(before);
});

it("searches a repository as a registry, and installs from there by name", async () => {
  const { url } = await hosted(below("plugins/hello", firstVersion));
  const project = await pluginProject({});
  await project.write(".aegis.yaml", `${await project.read(".aegis.yaml")}plugin_registries: ["gh:acme/tools"]\n`);
  const installer = await installerOf(project, url);
  const { entries } = await installer.search("hello");
  expect(entries).toEqual([
    expect.objectContaining({ name: "hello", registry: "gh:acme/tools", source: "gh:acme/tools#plugins/hello" }),
  ]);
  const done = await installer.install("hello", { from: undefined, force: false });
  expect(done.source).toBe("gh:acme/tools#plugins/hello");
  expect((await installer.installed()).get("hello")).toMatchObject({ registry: "gh:acme/tools" });
});

it.each([
  { what: "the plugin's folder is a link", link: "plugins/hello", to: "hello", from: "gh:acme/tools" },
  { what: "a folder above it is a link", link: "plugins", to: ".", from: "gh:acme/tools" },
  { what: "a folder of the path is a link", link: "deep/down", to: ".", from: "gh:acme/tools#deep/down/hello" },
  { what: "the path is a link", link: "deep", to: "hello", from: "gh:acme/tools#deep" },
  { what: "a link leads into .git", link: "plugins", to: null, from: "gh:acme/tools" },
])("refuses a source in which $what", async ({ link, to, from }) => {
  const { repo, url } = await hosted({ "README.md": "x" });
  // Something of this machine that looks like a plugin.
  const outside = await tempDir();
  for (const [path, text] of Object.entries(below("hello", firstVersion))) {
    await mkdir(dirname(join(outside, path)), { recursive: true });
    await writeFile(join(outside, path), text);
  }
  await mkdir(dirname(join(repo.dir, link)), { recursive: true });
  await symlink(to === null ? ".git" : join(outside, to), join(repo.dir, link));
  await repo.commit({});
  const project = await pluginProject({});
  const before = await project.snapshot();
  const installer = await installerOf(project, url);
  await expect(installer.install("hello", { from, force: false })).rejects.toThrow(/is a link that leads out of it/);
  expect(await project.snapshot()).toEqual(before);
  if (link !== "plugins") return;
  await project.write(".aegis.yaml", `plugin_registries: ["${from}"]\n`);
  const { entries, problems } = await installer.search("");
  expect(entries.filter(({ registry }) => registry === from)).toEqual([]);
  expect(problems.join()).toContain("is a link that leads out of it");
});

it("refuses a folder in which the plugin's folder is a link out of it", async () => {
  const project = await pluginProject();
  const shop = await tempDir();
  await symlink(project.source, join(shop, "hello"));
  const installer = await project.installer();
  await expect(installer.install("hello", { from: shop, force: false })).rejects.toThrow(/is a link that leads out/);
});
