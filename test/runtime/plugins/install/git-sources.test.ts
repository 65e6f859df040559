/** Installs over a git server of this machine, which stands for the one that `gh:` means. */
import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { type GitRepo, gitRepo } from "../../../helpers/git-repo.ts";
import { gitServer } from "../../../helpers/git-server.ts";
import { firstVersion, type PluginProject, pluginProject, secondVersion } from "../../../helpers/plugin-project.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";

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
  expect((await installer.installed()).hello).toMatchObject({
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
  const { offers } = await installer.search("hello");
  expect(offers).toEqual([
    expect.objectContaining({ name: "hello", registry: "gh:acme/tools", source: "gh:acme/tools#plugins/hello" }),
  ]);
  const done = await installer.install("hello", { from: undefined, force: false });
  expect(done.source).toBe("gh:acme/tools#plugins/hello");
  expect((await installer.installed()).hello).toMatchObject({ registry: "gh:acme/tools" });
});
