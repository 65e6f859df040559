/** Work of parallel sessions lands on a branch one at a time, checked, or not at all; by the built program. */

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Landing } from "@aegis/contract/landing.ts";
import type { OpenNeed } from "@aegis/contract/need.ts";
import type { WorktreeView } from "@aegis/contract/worktree.ts";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { type Git, initGit, writingAgent } from "../helpers/git-project.ts";
import { type Daemon, testProject } from "../helpers/project.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const isolated = {
  ...writingAgent,
  "shared.txt": "one\n",
  ".aegis.yaml": writingAgent[".aegis.yaml"].replace("permission: write", "permission: write, isolation: worktree"),
};

it("lands checked work, keeps out what fails its check, and leaves a dirty checkout alone", async () => {
  const { aegis, json, root } = await aegisProject(isolated);
  const git = await initGit(root);
  for (const [handle, text] of [
    ["ada", "write ada.txt fine"],
    ["bob", "write bob.txt broken"],
    ["eve", "write shared.txt changed"],
  ] as const) {
    await aegis("spawn", "dev", "--handle", handle);
    await aegis("send", handle, text, "--wait");
  }
  const needs = async () =>
    (await json<{ needs: OpenNeed[] }>("status")).needs.map(({ kind, handle }) => `${kind} ${handle}`);
  expect((await needs()).sort()).toEqual(["ready ada", "ready bob", "ready eve"]);
  expect((await aegis("status")).stdout).toMatch(
    /^ready +write ada.txt fine \(ada\): 1 file \+1 -0, unchecked; lands on main/m,
  );
  const landed = await aegis("land", "ada", "--check", "grep -q fine ada.txt");
  expect(landed, landed.stderr).toMatchObject({ code: 0 });
  expect(landed.stdout).toMatch(/^ada: landed on main as [0-9a-f]{12}$/m);
  expect(await readFile(join(root, "ada.txt"), "utf8")).toBe("fine\n");
  expect(await git("log", "--format=%s", "-1")).toBe("write ada.txt fine");
  expect(await git("log", "--format=%(trailers:key=Aegis-Session,valueonly)", "-1")).toMatch(/^ses_/);
  expect(await git("status", "--porcelain")).toBe("");
  const failed = await aegis("land", "bob", "--rebase", "--check", "echo no good; grep -q fine bob.txt");
  expect(failed.code).toBe(1);
  expect(failed.stdout).toContain("no good");
  expect(await git("ls-tree", "--name-only", "main", "bob.txt")).toBe("");
  await waitUntil("bob is told", async () => (await aegis("history", "bob", "--full")).stdout.includes("no good"));
  await writeFile(join(root, "shared.txt"), "a person's\n");
  const waiting = await aegis("land", "eve", "--merge", "-m", "Change the shared file");
  expect(waiting.code).toBe(1);
  expect(waiting.stdout).toContain("has uncommitted changes");
  expect(await readFile(join(root, "shared.txt"), "utf8")).toBe("a person's\n");
  await git("checkout", "-q", "shared.txt");
  expect((await aegis("land", "eve", "--merge", "-m", "Change the shared file")).stdout).toContain("landed on main");
  expect(await git("log", "--format=%s", "-1")).toBe("Change the shared file");
  expect(await git("rev-list", "--parents", "-n", "1", "main")).toMatch(/^\S+ \S+ \S+$/);
  expect((await aegis("land", "eve")).stdout).toContain("nothing to land");
  // What was not landed stays in the list after its session was closed, until its worktree is removed.
  await waitUntil("bob has ended its turn", async () => (await needs()).includes("ready bob"));
  expect(await needs()).toEqual(["ready bob"]);
  await aegis("close", "bob");
  expect(await needs()).toEqual(["ready bob"]);
  expect((await aegis("worktree", "remove", "bob")).code).toBe(0);
  expect(await needs()).toEqual([]);
  expect((await json<{ landings: Landing[] }>("land")).landings.map(({ state }) => state)).toEqual([
    "nothing",
    "landed",
    "waiting",
    "failed",
    "landed",
  ]);
  expect(await git("for-each-ref", "refs/aegis/land")).toBe("");
  expect((await aegis("land", "ada", "--merge", "--rebase")).code).toBe(2);
  expect((await aegis("land", "ada", "--to", "nowhere")).stdout).toContain("there is no branch nowhere");
});

async function written(daemon: Daemon, handle: string, text: string): Promise<void> {
  await daemon.client.call("createSession", { body: { handle, prompt: text } });
  await finished(daemon, handle);
}

async function finished(daemon: Daemon, session: string): Promise<void> {
  await waitUntil(`${session} is done`, async () => {
    const { session: view } = await daemon.client.call("getSession", { path: { session } });
    return view.state === "ready" && view.pending === 0 && (await turnsOf(daemon, session)) > 0;
  });
}

async function turnsOf(daemon: Daemon, session: string): Promise<number> {
  return (await daemon.client.call("listTurns", { path: { session }, query: {} })).turns.length;
}

async function fileOn(git: Git, path: string): Promise<string> {
  return git("show", `main:${path}`);
}

it("sends a conflict back to the session, refuses markers, and lands the resolution", { tags: "slow" }, async () => {
  const project = await testProject(isolated);
  const git = await initGit(project.dir);
  const daemon = await project.start();
  await written(daemon, "ada", "write shared.txt ada");
  await written(daemon, "bob", "write shared.txt bob");
  const land = async (session: string) =>
    (await daemon.client.call("landSession", { path: { session }, body: {} })).landing;
  expect(await land("ada")).toMatchObject({ state: "landed" });
  expect(await land("bob")).toMatchObject({ state: "conflict", files: ["shared.txt"] });
  await waitUntil("bob answers the conflict", async () => (await turnsOf(daemon, "bob")) === 2);
  await finished(daemon, "bob");
  const { session } = await daemon.client.call("getSession", { path: { session: "bob" } });
  expect(await readFile(join(session.worktree?.dir ?? "", "shared.txt"), "utf8")).toMatch(
    /<<<<<<<[\s\S]*bob[\s\S]*ada[\s\S]*>>>>>>>/,
  );
  expect(await land("bob")).toMatchObject({ state: "conflict", detail: "conflict markers are left" });
  await finished(daemon, "bob");
  await daemon.client.call("sendMessage", { path: { session: "bob" }, body: { text: "write shared.txt ada and bob" } });
  await waitUntil("bob resolves it", async () => {
    const text = await readFile(join(session.worktree?.dir ?? "", "shared.txt"), "utf8");
    return text === "ada and bob\n";
  });
  await finished(daemon, "bob");
  expect(await land("bob")).toMatchObject({ state: "landed" });
  expect(await fileOn(git, "shared.txt")).toBe("ada and bob");
  expect(await readFile(join(project.dir, "shared.txt"), "utf8")).toBe("ada and bob\n");
});

it.each(["squash", "rebase"] as const)(
  "removes a closed worktree whose work landed with --%s",
  { tags: "slow" },
  async (how) => {
    const { aegis, json, root } = await aegisProject(isolated);
    const git = await initGit(root);
    for (const handle of ["ada", "bob", "eve"]) {
      await aegis("spawn", "dev", "--handle", handle);
      await aegis("send", handle, `write ${handle}.txt one`, "--wait");
    }
    const list = async () => (await json<{ worktrees: WorktreeView[] }>("worktree", "list")).worktrees;
    const dirOf = (all: readonly WorktreeView[], who: string) => all.find(({ handle }) => handle === who)?.dir ?? "";
    const all = await list();
    // The agent commits once and then works on.
    await git("-C", dirOf(all, "ada"), "add", "-A");
    await git("-C", dirOf(all, "ada"), "commit", "-q", "-m", "one");
    await writeFile(join(dirOf(all, "ada"), "ada.txt"), "one\ntwo\n");
    for (const handle of ["ada", "bob"])
      expect((await aegis("land", handle, `--${how}`)).stdout).toContain(`${handle}: landed on main`);
    // Later work on the branch changes the lines that landed, and bob writes a file that did not land.
    await writeFile(join(root, "ada.txt"), "rewritten\n");
    await git("commit", "-q", "-am", "rewrite");
    await writeFile(join(dirOf(all, "bob"), "more.txt"), "not landed\n");
    for (const handle of ["ada", "bob", "eve"]) await aegis("close", handle);
    await waitUntil("the worktree of ada is gone", async () => !existsSync(dirOf(all, "ada")));
    expect((await aegis("rescue", "list")).stdout).toMatch(/^ada /m);
    await waitUntil("the branch of ada is gone", async () => (await git("branch", "--list", "aegis/ada")) === "");
    await aegis("down");
    await aegis("up");
    await waitUntil("only ada's is gone", async () => (await list()).length === 2);
    for (const handle of ["bob", "eve"]) {
      expect(existsSync(join(dirOf(all, handle), `${handle}.txt`))).toBe(true);
      expect(await git("branch", "--list", `aegis/${handle}`)).toContain(`aegis/${handle}`);
    }
  },
);

const preload = pathToFileURL(join(import.meta.dirname, "kill-at.ts")).href;

it.each([3, 25, 45, 60, 75, 85, 95])(
  "lands or does not when it is killed at instant %i, and goes on",
  { tags: "slow" },
  async (instant) => {
    const project = await testProject(isolated);
    const git = await initGit(project.dir);
    const file = join(project.dir, "..", "kill-at");
    const first = await project.start({ env: { NODE_OPTIONS: `--import=${preload}`, KILL_AT: file } });
    await written(first, "ada", "write ada.txt fine");
    const old = await git("rev-parse", "main");
    await writeFile(file, String(instant));
    const path = { session: "ada" };
    await first.client.call("landSession", { path, body: { check: "grep -q fine ada.txt" } }).catch(() => {});
    await first.kill();
    const between = await git("rev-parse", "main");
    if (between !== old) expect(await fileOn(git, "ada.txt")).toBe("fine");
    const second = await project.start();
    await waitUntil("the landing is over", async () => {
      const { landings } = await second.client.call("listLandings");
      return landings.every(({ ended_at }) => ended_at !== null);
    });
    const { landings } = await second.client.call("listLandings");
    // A kill before the row leaves nothing to go on with.
    if (landings.length === 0) await second.client.call("landSession", { path, body: {} });
    else expect(landings).toMatchObject([{ state: "landed" }]);
    await waitUntil("its reference is gone", async () => (await git("for-each-ref", "refs/aegis/land")) === "");
    expect(await git("rev-list", "--count", `${old}..main`)).toBe("1");
    expect(await fileOn(git, "ada.txt")).toBe("fine");
    expect(await git("status", "--porcelain")).toBe("");
    // The session continues from what landed, or from where it was.
    const { session } = await second.client.call("getSession", { path });
    const dir = session.worktree?.dir ?? "";
    expect(await git("-C", dir, "status", "--porcelain")).toBe("");
    await writeFile(join(dir, "ada.txt"), "fine\nagain\n");
    const { landing } = await second.client.call("landSession", { path, body: { how: "rebase" } });
    expect(landing).toMatchObject({ state: "landed" });
    expect(await git("rev-list", "--count", `${old}..main`)).toBe("2");
  },
);
