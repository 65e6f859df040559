/** The merge queue is a queue like others: people see it, pause it, cancel what waits; by the built program. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LandingView } from "@aegis/contract/landing.ts";
import type { QueueView } from "@aegis/contract/task.ts";
import type { WorktreeView } from "@aegis/contract/worktree.ts";
import { expect, it } from "vitest";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";
import { initGit, writingAgent } from "../helpers/git-project.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const isolated = {
  ...writingAgent,
  ".aegis.yaml": writingAgent[".aegis.yaml"].replace("permission: write", "permission: write, isolation: worktree"),
};

async function written(aegis: AegisProject["aegis"], handle: string): Promise<void> {
  await aegis("spawn", "dev", "--handle", handle);
  await aegis("send", handle, `write ${handle}.txt one`, "--wait");
}

async function waiting({ json }: AegisProject, count: number): Promise<LandingView[]> {
  const open = async () => (await json<{ landings: LandingView[] }>("queue", "status", "merge-queue")).landings;
  await waitUntil(`${count} landings wait`, async () => (await open()).length === count);
  return open();
}

it("lists, pauses and resumes the merge queue, and cancels what waits, also after a kill", async () => {
  const project = await aegisProject(isolated);
  const { aegis, json, start, root, daemonPid } = project;
  const git = await initGit(root);
  for (const handle of ["ada", "bob"]) await written(aegis, handle);
  expect((await aegis("queue", "list")).stdout).not.toContain("merge-queue");
  expect((await aegis("queue", "pause", "merge-queue")).stdout).toContain("merge-queue is paused");
  const ada = start("land", "ada", "--check", "test -f ada.txt");
  await waiting(project, 1);
  expect(ada.output.stderr).toContain("merge-queue is paused");
  const bob = start("land", "bob");
  const [second, first] = await waiting(project, 2);
  expect([first?.queued_position, second?.queued_position]).toEqual([1, 2]);
  expect((await aegis("queue", "list")).stdout).toMatch(/^merge-queue +- +1 +- +2 +- +- +paused/m);
  expect((await aegis("queue", "status")).stdout).toMatch(/pending \(2\) +main .*lnd_\S+/);
  const cancelled = await aegis("queue", "cancel", second?.id ?? "");
  expect(cancelled, cancelled.stderr).toMatchObject({ code: 0 });
  const ended = await bob.ended;
  expect(ended.code).toBe(1);
  expect(ended.stdout).toContain("bob: cancelled, not landed on main");
  const again = await aegis("queue", "cancel", second?.id ?? "");
  expect(again.code).toBe(1);
  expect(again.stderr).toContain("has ended: cancelled");

  process.kill((await daemonPid()) ?? 0, "SIGKILL");
  expect((await ada.ended).stderr).toContain("continues when it runs again");
  await aegis("up");
  expect(await waiting(project, 1)).toMatchObject([{ id: first?.id, state: "new", queued_position: 1 }]);
  expect(await git("rev-list", "--count", "main")).toBe("1");
  await aegis("queue", "resume", "merge-queue");
  const drained = await aegis("queue", "drain", "merge-queue", "--timeout", "1m");
  expect(drained, drained.stderr).toMatchObject({ code: 0 });
  expect(await readFile(join(root, "ada.txt"), "utf8")).toBe("one\n");
  const { queues } = await json<{ queues: QueueView[] }>("queue", "list");
  expect(queues).toMatchObject([{ name: "merge-queue", source: "built-in", tasks: { completed: 1, cancelled: 1 } }]);
  const finished = await aegis("queue", "cancel", first?.id ?? "");
  expect(finished.stderr).toContain("has ended: landed");
});

it("takes no tasks and lends its name to no other queue", async () => {
  const { aegis, root } = await aegisProject(isolated);
  const enqueued = await aegis("queue", "enqueue", "merge-queue", "work");
  expect(enqueued.stderr).toContain("is the queue of landings: it accepts no tasks");
  expect((await aegis("queue", "remove", "merge-queue")).stderr).toContain("is the queue of landings");
  expect((await aegis("queue", "add", "merge-queue", "dev")).stderr).toContain("the name of the queue of landings");
  const config = `${isolated[".aegis.yaml"]}queues:\n  merge-queue: { agent: dev }\n`;
  await writeFile(join(root, ".aegis.yaml"), config);
  expect((await aegis("config", "show")).stderr).toContain("merge-queue is the queue of landings");
});

it("waits for the turn of a session that works again, and lets others pass", { tags: "slow" }, async () => {
  const project = await aegisProject(isolated);
  const { aegis, json, start, root } = project;
  const git = await initGit(root);
  for (const handle of ["ada", "bob"]) await written(aegis, handle);
  await aegis("queue", "pause", "merge-queue");
  const ada = start("land", "ada");
  await waiting(project, 1);
  const bob = start("land", "bob");
  await waiting(project, 2);
  await aegis("send", "ada", "write ada.txt half then hold g");
  const { worktrees } = await json<{ worktrees: WorktreeView[] }>("worktree", "list");
  const dir = worktrees.find(({ handle }) => handle === "ada")?.dir ?? "";
  await waitUntil("ada works", async () => (await readFile(join(dir, "ada.txt"), "utf8")) === "half\n");
  await aegis("queue", "resume", "merge-queue");
  expect((await bob.ended).stdout).toContain("bob: landed on main");
  expect(await waiting(project, 1)).toMatchObject([{ state: "new", queued_position: 1 }]);
  expect(await git("ls-tree", "--name-only", "main", "ada.txt")).toBe("");
  await writeFile(join(dir, "ada.txt"), "whole\n");
  await mkdir(join(dir, "gates"), { recursive: true });
  await writeFile(join(dir, "gates", "g"), "");
  expect((await ada.ended).stdout).toContain("ada: landed on main");
  expect(await git("show", "main:ada.txt")).toBe("whole");
});
