/** A session that lands again and again continues from what it landed; by the built program. */
import { appendFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LandHow, LandingView } from "@aegis/contract/landing.ts";
import { beforeAll, expect, it } from "vitest";
import { type Git, initGit, writingAgent } from "../helpers/git-project.ts";
import { sharedDaemon } from "../helpers/project.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const shared = sharedDaemon({
  ...writingAgent,
  "old.txt": "old\n",
  "moved.txt": "moved\n",
  "common.txt": `${Array.from({ length: 20 }, (_, line) => `line ${line}`).join("\n")}\n`,
  ".gitignore": `${writingAgent[".gitignore"]}ignored.txt\n`,
  ".aegis.yaml": writingAgent[".aegis.yaml"].replace("permission: write", "permission: write, isolation: worktree"),
});
let git: Git;

beforeAll(async () => {
  git = await initGit(shared.project.dir);
});

/** A session with a worktree, and git in it. */
async function session(handle: string, base?: string) {
  const { client } = shared.daemon;
  const turn = async (text: string) => {
    await client.call("sendMessage", { path: { session: handle }, body: { text } });
    await waitUntil(`${handle} is done`, async () => {
      const { session: view } = await client.call("getSession", { path: { session: handle } });
      return view.state === "ready" && view.pending === 0;
    });
  };
  await client.call("createSession", { body: { handle, ...(base === undefined ? {} : { base }) } });
  await turn("hello");
  const { session: view } = await client.call("getSession", { path: { session: handle } });
  const dir = view.worktree?.dir ?? "";
  const own: Git = (...args) => git("-C", dir, ...args);
  const land = async (how: LandHow = "squash", more: { check?: string } = {}): Promise<LandingView> =>
    (await client.call("landSession", { path: { session: handle }, body: { how, ...more } })).landing;
  return { dir, own, land, turn, file: (name: string) => join(dir, name) };
}

async function onMain(path: string): Promise<string> {
  return `${await git("show", `main:${path}`)}\n`;
}

/** Somebody else's commit, so that the branch is never only what the session landed. */
async function othersCommit(name: string): Promise<void> {
  await writeFile(join(shared.project.dir, name), `${name}\n`);
  await git("add", name);
  await git("commit", "-q", "-m", name);
}

const ways = ["squash", "merge", "rebase"] as const;
const table = ways.flatMap((how) =>
  [true, false].flatMap((commits) => [true, false].map((others) => ({ how, commits, others }))),
);

it.each(table)(
  "lands three times with $how, agent commits: $commits, others land: $others",
  { tags: "slow" },
  async ({ how, commits, others }) => {
    const name = `${how}-${commits}-${others}`;
    const { own, land, turn, file, dir } = await session(name);
    const before = await git("rev-parse", "main");
    let text = "";
    for (const round of [1, 2, 3]) {
      if (others) await othersCommit(`${name}-other-${round}.txt`);
      text = round === 1 ? "one\n" : `${text}line ${round}\n`;
      if (round === 1) await turn(`write ${name}.txt one`);
      else await appendFile(file(`${name}.txt`), `line ${round}\n`);
      if (commits) {
        await own("add", "-A");
        await own("commit", "-q", "-m", `round ${round}`);
      }
      expect(await land(how), `landing ${round}`).toMatchObject({ state: "landed" });
      expect(await onMain(`${name}.txt`)).toBe(text);
      expect(await readFile(file(`${name}.txt`), "utf8")).toBe(text);
      expect(await own("status", "--porcelain")).toBe("");
      expect((await land(how)).state).toBe("nothing");
    }
    // Each landing brought its own change, once.
    const touching = await git("log", "--no-merges", "--format=%h", `${before}..main`, "--", `${name}.txt`);
    expect(touching.split("\n")).toHaveLength(3);
    // The branch of the session has everything that landed, and none of it is still to land.
    expect(await own("show", `HEAD:${name}.txt`)).toBe(text.trimEnd());
    expect(await git("rev-parse", `aegis/${name}`)).toBe(await own("rev-parse", "HEAD"));
    if (!others) expect(await git("rev-list", "--count", `main..aegis/${name}`)).toBe("0");
    expect(await git("status", "--porcelain")).toBe("");
    expect(dir).toContain(name);
  },
);

it("keeps staged, edited, untracked and ignored files of the agent as they are", { tags: "slow" }, async () => {
  const { own, land, file } = await session("opener");
  await writeFile(file("staged.txt"), "first\n");
  await own("add", "staged.txt");
  await writeFile(file("staged.txt"), "second\n");
  await writeFile(file("ignored.txt"), "ignored\n");
  await writeFile(file("untracked.txt"), "untracked\n");
  await writeFile(file("common.txt"), `top\n${await readFile(file("common.txt"), "utf8")}`);
  await rm(file("old.txt"));
  await mkdir(file("deep"));
  await rename(file("moved.txt"), file("deep/moved.txt"));
  // It goes on while the check runs.
  const check = `echo late >> ${file("untracked.txt")}; echo new > ${file("new.txt")}`;
  expect(await land("squash", { check })).toMatchObject({ state: "landed" });
  expect(await git("show", "main:staged.txt")).toBe("second");
  expect(await own("show", ":staged.txt")).toBe("first");
  expect(await readFile(file("staged.txt"), "utf8")).toBe("second\n");
  expect(await readFile(file("ignored.txt"), "utf8")).toBe("ignored\n");
  expect((await own("status", "--porcelain")).split("\n").sort()).toEqual([
    " M untracked.txt",
    "?? new.txt",
    "MM staged.txt",
  ]);
  expect(await land("rebase")).toMatchObject({ state: "landed" });
  expect(await onMain("untracked.txt")).toBe("untracked\nlate\n");
  expect(await onMain("new.txt")).toBe("new\n");
  expect(await git("ls-tree", "-r", "--name-only", "main", "old.txt", "moved.txt", "deep")).toBe("deep/moved.txt");
});

it("lands two sessions on one file in turns, and one that starts from another's branch", { tags: "slow" }, async () => {
  const [ada, bob] = [await session("ada"), await session("bob")];
  const edit = async (file: string, from: string, to: string) => {
    const text = await readFile(file, "utf8");
    expect(text).toContain(`${from}\n`);
    await writeFile(file, text.replace(`${from}\n`, `${to}\n`));
  };
  for (const round of ["a", "b", "c"]) {
    await edit(ada.file("common.txt"), round === "a" ? "line 2" : `ada ${round === "b" ? "a" : "b"}`, `ada ${round}`);
    await edit(bob.file("common.txt"), round === "a" ? "line 17" : `bob ${round === "b" ? "a" : "b"}`, `bob ${round}`);
    expect(await ada.land("squash")).toMatchObject({ state: "landed" });
    expect(await bob.land("rebase")).toMatchObject({ state: "landed" });
    const text = await onMain("common.txt");
    expect(text).toContain(`ada ${round}\n`);
    expect(text).toContain(`bob ${round}\n`);
  }
  const eve = await session("bob-2", "aegis/bob");
  await edit(eve.file("common.txt"), "bob c", "bob 2");
  expect(await eve.land()).toMatchObject({ state: "landed" });
  expect(await onMain("common.txt")).toContain("bob 2\n");
});

it("goes on after the branch was merged into the worktree, rewritten, or given the work by a person", {
  tags: "slow",
}, async () => {
  const { own, land, file } = await session("eve");
  await writeFile(file("eve.txt"), "one\n");
  await othersCommit("eve-other.txt");
  expect(await land()).toMatchObject({ state: "landed" });
  // The person rewrites the last commit, as a pull with a rebase does.
  await git("commit", "-q", "--amend", "-m", "rewritten");
  await appendFile(file("eve.txt"), "two\n");
  expect(await land()).toMatchObject({ state: "landed" });
  // The agent merges the branch, which has changed beyond what landed.
  await appendFile(join(shared.project.dir, "eve.txt"), "of a person\n");
  await git("commit", "-q", "-am", "person");
  await own("merge", "-q", "--no-edit", "-X", "theirs", "main").catch(() => {});
  await writeFile(file("eve.txt"), "one\ntwo\nof a person\nthree\n");
  await own("add", "-A");
  await own("commit", "-q", "-m", "merged");
  expect(await land("rebase")).toMatchObject({ state: "landed" });
  expect(await onMain("eve.txt")).toBe("one\ntwo\nof a person\nthree\n");
  // The work is on the branch already, but not through Aegis.
  await appendFile(file("eve.txt"), "four\n");
  await writeFile(join(shared.project.dir, "eve.txt"), await readFile(file("eve.txt"), "utf8"));
  await git("commit", "-q", "-am", "by hand");
  expect((await land()).state).toBe("nothing");
  await appendFile(file("eve.txt"), "five\n");
  expect(await land()).toMatchObject({ state: "landed" });
  expect(await onMain("eve.txt")).toBe("one\ntwo\nof a person\nthree\nfour\nfive\n");
});

it("refuses a worktree in the middle of a merge, and leaves it as it is", async () => {
  const { own, land, file } = await session("mid");
  await writeFile(file("mid.txt"), "mine\n");
  await own("add", "-A");
  await own("commit", "-q", "-m", "mine");
  await writeFile(join(shared.project.dir, "mid.txt"), "theirs\n");
  await git("add", "-A");
  await git("commit", "-q", "-m", "theirs");
  await own("merge", "-q", "main").catch(() => {});
  const head = await own("rev-parse", "HEAD");
  const status = await own("status", "--porcelain");
  expect(status).toContain("AA mid.txt");
  const landing = await land();
  expect(landing).toMatchObject({ state: "waiting" });
  expect(landing.detail).toMatch(/is in the middle of a merge: finish or abort it there, and land again/);
  expect(await own("rev-parse", "HEAD")).toBe(head);
  expect(await own("status", "--porcelain")).toBe(status);
  await own("merge", "--abort");
});
