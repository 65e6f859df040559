/** Worktrees are removed only after their work is stored, whenever the daemon is killed; by the built program. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Rescue } from "@aegis/contract/rescue.ts";
import type { WorktreeView } from "@aegis/contract/worktree.ts";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { initGit, writingAgent } from "../helpers/git-project.ts";
import { type Daemon, testProject } from "../helpers/project.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const isolated = {
  ...writingAgent,
  ".aegis.yaml": writingAgent[".aegis.yaml"].replace("permission: write", "permission: write, isolation: worktree"),
};

it("keeps unlanded work of a closed session, rescues it before a removal and restores it with its index", async () => {
  const { aegis, json, root } = await aegisProject(isolated);
  const git = await initGit(root);
  await aegis("spawn", "dev", "--handle", "ada");
  await aegis("send", "ada", "write notes.txt new", "--wait");
  const { worktrees } = await json<{ worktrees: WorktreeView[] }>("worktree", "list");
  const dir = worktrees[0]?.dir ?? "";
  await writeFile(join(dir, "staged.txt"), "staged\n");
  await git("-C", dir, "add", "staged.txt");
  expect((await aegis("worktree", "remove", "ada")).stderr).toContain("close it first");
  await aegis("close", "ada");
  expect(existsSync(join(dir, "notes.txt"))).toBe(true);
  const removed = await aegis("worktree", "remove", "ada");
  expect(removed.code, removed.stderr).toBe(0);
  expect(existsSync(dir)).toBe(false);
  expect(await git("worktree", "list", "--porcelain")).not.toContain(dir);
  expect((await aegis("rescue", "list")).stdout).toMatch(/^ada .* 2 +aegis\/ada /m);
  expect((await aegis("rescue", "show", "ada")).stdout).toContain("added notes.txt");
  const { branch, dir: back } = await json<{ branch: string; dir: string }>("rescue", "restore", "ada", "--to", dir);
  expect({ branch, back }).toEqual({ branch: "refs/heads/aegis/ada", back: dir });
  expect(await readFile(join(dir, "notes.txt"), "utf8")).toBe("new\n");
  expect(await git("-C", dir, "status", "--porcelain")).toBe("A  staged.txt\n?? notes.txt");
  expect((await aegis("rescue", "restore", "nobody")).stderr).toContain('no rescue "nobody"');
  const { rescues } = await json<{ rescues: Rescue[] }>("rescue", "list");
  expect(rescues).toMatchObject([{ handle: "ada", branch: "aegis/ada", files: 2, skipped: [] }]);
  expect((await aegis("rescue", "prune", "--yes")).stdout).toBe("dropped 0 rescues\n");
  expect((await aegis("rescue", "prune", "--days", "0", "--yes")).stdout).toBe("dropped 1 rescue\n");
  // A session that changed nothing leaves nothing behind.
  await aegis("spawn", "dev", "--handle", "eve");
  await aegis("send", "eve", "hello", "--wait");
  await aegis("close", "eve");
  await waitUntil("the worktree of eve is gone", async () => {
    const left = await json<{ worktrees: WorktreeView[] }>("worktree", "list");
    return left.worktrees.every(({ handle }) => handle !== "eve");
  });
  expect(await git("branch", "--list", "aegis/eve")).toBe("");
});

const preload = pathToFileURL(join(import.meta.dirname, "kill-at.ts")).href;

async function rescued(daemon: Daemon): Promise<Rescue[]> {
  return (await daemon.client.call("listRescues")).rescues;
}

it.each([1, 12, 40, 70, 95, 110])(
  "loses nothing when it is killed at instant %i of a removal",
  { tags: "slow" },
  async (instant) => {
    const project = await testProject(isolated);
    const git = await initGit(project.dir);
    const file = join(project.dir, "..", "kill-at");
    const first = await project.start({ env: { NODE_OPTIONS: `--import=${preload}`, KILL_AT: file } });
    await first.client.call("createSession", { body: { handle: "ada", prompt: "write notes.txt precious" } });
    const path = { session: "ada" };
    let dir = "";
    await waitUntil("ada has written", async () => {
      const { session } = await first.client.call("getSession", { path });
      dir = session.worktree?.dir ?? "";
      return session.state === "ready" && existsSync(join(dir, "notes.txt"));
    });
    await first.client.call("closeSession", { path });
    await writeFile(file, String(instant));
    await first.client.call("removeWorktree", { path }).catch(() => {});
    await first.kill();
    const second = await project.start();
    await waitUntil("the worktree is kept or removed", async () => {
      const { worktrees } = await second.client.call("listWorktrees");
      return worktrees.every(({ state }) => state !== "removing");
    });
    if (existsSync(dir)) expect(await readFile(join(dir, "notes.txt"), "utf8")).toBe("precious\n");
    else {
      const [rescue] = await rescued(second);
      expect(await git("cat-file", "blob", `${rescue?.ref}:worktree/notes.txt`)).toBe("precious");
      const to = join(project.dir, "..", "restored");
      await second.client.call("restoreRescue", { path: { rescue: "ada" }, body: { dir: to } });
      expect(await readFile(join(to, "notes.txt"), "utf8")).toBe("precious\n");
    }
  },
);
