/** Worktrees of sparse repositories, with submodules, and of harnesses that are resumed, by the built program. */
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionView } from "@aegis/contract/session.ts";
import { expect, it } from "vitest";
import { initGit, writingAgent } from "../helpers/git-project.ts";
import { type Daemon, testProject } from "../helpers/project.ts";
import { acp, claude, codex } from "../helpers/projects/harnesses.ts";
import { createSession, eventsOf, talk } from "../helpers/talk.ts";
import { tempDir } from "../helpers/temp-dir.ts";

async function view({ client }: Daemon, session: string): Promise<SessionView> {
  return (await client.call("getSession", { path: { session } })).session;
}

async function folderOf(daemon: Daemon, session: string): Promise<string> {
  return (await view(daemon, session)).worktree?.dir ?? "";
}

async function changed({ client }: Daemon, session: string): Promise<string[]> {
  const { changes } = await client.call("getChanges", { path: { session } });
  expect(changes.problems).toEqual([]);
  return changes.files.map(({ status, path }) => `${status} ${path}`);
}

async function closedAndRemoved({ client }: Daemon, session: string, dir: string): Promise<void> {
  await client.call("closeSession", { path: { session } });
  await client.call("removeWorktree", { path: { session } });
  expect(existsSync(dir)).toBe(false);
}

it("keeps the cone of a sparse checkout, and lands without touching the rest", { tags: "slow" }, async () => {
  const project = await testProject({ ...writingAgent, "keep/one.txt": "one\n", "other/two.txt": "two\n" });
  const git = await initGit(project.dir);
  await git("sparse-checkout", "set", "keep");
  expect(existsSync(join(project.dir, "other"))).toBe(false);
  const daemon = await project.start();
  await createSession(daemon.client, { handle: "ada", isolation: "worktree" });
  expect(await talk(daemon.client, "ada", "write keep/new.txt inside")).toContain("wrote");
  const dir = await folderOf(daemon, "ada");
  expect(await readdir(dir)).toEqual(expect.arrayContaining(["keep", "playbook.yaml"]));
  expect(existsSync(join(dir, "other"))).toBe(false);
  // A file outside of the cone is work like any other.
  await talk(daemon.client, "ada", "write other/new.txt outside");
  expect(await changed(daemon, "ada")).toEqual(["added keep/new.txt", "added other/new.txt"]);
  const { landing } = await daemon.client.call("landSession", { path: { session: "ada" }, body: {} });
  expect(landing).toMatchObject({ state: "landed" });
  expect(await git("ls-tree", "-r", "--name-only", "main", "keep", "other")).toBe(
    "keep/new.txt\nkeep/one.txt\nother/new.txt\nother/two.txt",
  );
  expect(await readFile(join(project.dir, "keep/new.txt"), "utf8")).toBe("inside\n");
  expect(existsSync(join(project.dir, "other/two.txt"))).toBe(false);
  expect(await git("status", "--porcelain")).toBe("");
  await closedAndRemoved(daemon, "ada", dir);
  expect(await git("sparse-checkout", "list")).toBe("keep");
});

it("leaves submodules alone, or has them by a setup command, and removes them with the worktree", {
  tags: "slow",
}, async () => {
  const library = await tempDir();
  await writeFile(join(library, "lib.txt"), "library\n");
  const ofLibrary = await initGit(library);
  const project = await testProject({
    ...writingAgent,
    ".aegis.yaml": `${writingAgent[".aegis.yaml"]}worktrees:\n  setup: ['test "$(basename "$AEGIS_WORKTREE")" = bare || git -c protocol.file.allow=always submodule --quiet update --init']\n`,
  });
  const git = await initGit(project.dir);
  await git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "lib");
  await git("commit", "-q", "-m", "library");
  const link = await git("rev-parse", "HEAD:lib");
  const daemon = await project.start();
  for (const handle of ["bare", "full"]) {
    await createSession(daemon.client, { handle, isolation: "worktree" });
    expect(await talk(daemon.client, handle, `write ${handle}.txt x`)).toContain("wrote");
    expect(await changed(daemon, handle)).toEqual([`added ${handle}.txt`]);
    const dir = await folderOf(daemon, handle);
    expect(existsSync(join(dir, "lib/lib.txt"))).toBe(handle === "full");
    const { landing } = await daemon.client.call("landSession", { path: { session: handle }, body: {} });
    expect(landing).toMatchObject({ state: "landed" });
    expect(await git("rev-parse", "main:lib")).toBe(link);
  }
  // What is only in the worktree's submodule is not removed with it.
  const dir = await folderOf(daemon, "full");
  await writeFile(join(dir, "lib/own.txt"), "only here\n");
  await expect(closedAndRemoved(daemon, "full", dir)).rejects.toThrow(/lib/);
  expect(await readFile(join(dir, "lib/own.txt"), "utf8")).toBe("only here\n");
  await closedAndRemoved(daemon, "bare", await folderOf(daemon, "bare"));
  const { rescue } = await daemon.client.call("getRescue", { path: { rescue: "bare" } });
  // The landing committed the file on the branch of the worktree, so the rescue has it as a commit.
  expect(rescue.changed).toEqual([]);
  expect(await git("ls-tree", "--name-only", `${rescue.head}`, "bare.txt")).toBe("bare.txt");
  expect(await git("status", "--porcelain")).toBe("");
  expect(await ofLibrary("status", "--porcelain")).toBe("");
});

it("resumes the conversation of a harness in its worktree after a restart", { tags: "slow" }, async () => {
  const harnesses = { claude, codex, acp: acp() };
  const agents = Object.fromEntries(
    Object.entries(harnesses).map(([name, { agent }]) => [name, { ...agent, isolation: "worktree" }]),
  );
  const project = await testProject({
    ".aegis.yaml": JSON.stringify({ default_agent: "claude", agents }),
    ".gitignore": ".aegis/\n",
  });
  await initGit(project.dir);
  const first = await project.start();
  const names = Object.keys(harnesses);
  for (const handle of names) await createSession(first.client, { handle, agent: handle });
  for (const handle of names) expect(await talk(first.client, handle, "do:recall")).toContain("prompts: 1");
  const folders = await Promise.all(names.map((handle) => folderOf(first, handle)));
  await first.kill();
  const second = await project.start();
  for (const handle of names) expect(await talk(second.client, handle, "do:recall")).toContain("prompts: 2");
  expect(await Promise.all(names.map((handle) => folderOf(second, handle)))).toEqual(folders);
  expect(await eventsOf(second.client, "session.memory_lost")).toEqual([]);
});
