// @module-tag slow
/** Random dirty working trees are rescued, removed and restored: files, modes, links, folders, index and HEAD are the same. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { newId } from "@aegis/contract/ids.ts";
import { openRepository } from "@aegis/lib/git/repository.ts";
import { gitRunner, type RunGit } from "@aegis/lib/git/run.ts";
import { type GitRepo, gitRepo, testProcesses } from "@aegis/test/helpers/git-repo.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { rescueRef } from "../src/rescue/format.ts";
import { restoreRescue } from "../src/rescue/restore.ts";
import { saveRescue } from "../src/rescue/save.ts";

/** Mulberry32: the same seed gives the same tree. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const names = [
  "a.txt",
  "b c.txt",
  "d/e.txt",
  "d/f/g.bin",
  "ü.txt",
  "tab\t.txt",
  "new\nline",
  '"quoted"',
  "-dash",
  "h/i",
];

async function runner(): Promise<RunGit> {
  return gitRunner({ processes: await testProcesses(), env: { PATH: process.env.PATH, HOME: await tempDir() } });
}

async function dirtyWorktree(repo: GitRepo, random: (below: number) => number): Promise<string> {
  const dir = join(repo.dir, "..", `wt-${randomUUID()}`);
  await repo.git("worktree", "add", "-q", "-b", `aegis/${randomUUID()}`, dir);
  const git = (...args: string[]) => repo.git("-C", dir, ...args);
  const write = async (path: string, bytes: string | Uint8Array) => {
    await mkdir(dirname(join(dir, path)), { recursive: true }).catch(() => {});
    await writeFile(join(dir, path), bytes).catch(() => {});
  };
  if (random(3) === 0) {
    // A merge that stops at a conflict.
    await git("checkout", "-q", "--detach");
    await write("a.txt", `theirs ${random(99)}\n`);
    await git("commit", "-q", "-am", "theirs");
    const theirs = await git("rev-parse", "HEAD");
    await git("checkout", "-q", "-");
    await write("a.txt", `ours ${random(99)}\n`);
    await git("commit", "-q", "-am", "ours");
    await git("merge", theirs).catch(() => {});
  }
  for (let step = 0; step < 4 + random(12); step++) {
    const path = names[random(names.length)] ?? "";
    const actions = [
      () => write(path, `text ${random(1_000)}\r\n`),
      () => write(path, Buffer.from([0, random(256), 10, 13, 255])),
      () => rm(join(dir, path), { force: true }),
      () => chmod(join(dir, path), [0o444, 0o600, 0o755, 0o640][random(4)] ?? 0o644).catch(() => {}),
      () => git("add", "-A", "--", path).catch(() => ""),
      () => git("add", "-N", "--", path).catch(() => ""),
      () => symlink(`to ${random(9)}`, join(dir, `link${random(5)}`)).catch(() => {}),
      () => mkdir(join(dir, `empty${random(5)}/x`), { recursive: true }).then(() => {}),
      () => git("update-index", "--assume-unchanged", "b c.txt").catch(() => ""),
      () => git("commit", "-q", "--allow-empty", "-m", "agent").catch(() => ""),
    ];
    await actions[random(actions.length)]?.();
  }
  return dir;
}

/** Everything below a folder: type, mode and content of each entry. */
async function everything(dir: string, at = ""): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of await readdir(join(dir, at))) {
    const path = join(at, name);
    if (path === ".git") continue;
    const info = await lstat(join(dir, path));
    if (info.isDirectory()) {
      found[path] = "folder";
      Object.assign(found, await everything(dir, path));
    } else if (info.isSymbolicLink()) found[path] = `link ${await readlink(join(dir, path))}`;
    else found[path] = `${(info.mode & 0o7777).toString(8)} ${(await readFile(join(dir, path))).toString("base64")}`;
  }
  return found;
}

async function stateOf(repo: GitRepo, dir: string) {
  const git = (...args: string[]) => repo.git("-C", dir, ...args);
  const gitDir = await git("rev-parse", "--absolute-git-dir");
  return {
    files: await everything(dir),
    index: (await readFile(join(gitDir, "index"))).toString("base64"),
    merge: existsSync(join(gitDir, "MERGE_HEAD")) ? await readFile(join(gitDir, "MERGE_HEAD"), "utf8") : null,
    head: await git("rev-parse", "HEAD"),
    branch: await git("symbolic-ref", "-q", "HEAD").catch(() => ""),
    status: await git("status", "--porcelain", "-z"),
    staged: await git("ls-files", "-s"),
  };
}

const cases = Number(process.env.RESCUE_CASES ?? 8);

describe("a rescue", () => {
  it.each(Array.from({ length: cases }, (_, index) => index + 1))("brings back tree %i", async (seed) => {
    const repo = await gitRepo({
      "a.txt": "one\n",
      "b c.txt": "two\n",
      "d/e.txt": "three\n",
      ".gitattributes": "*.txt text=auto\n",
    });
    const run = await runner();
    const dir = await dirtyWorktree(repo, seeded(seed));
    const before = await stateOf(repo, dir);
    const ref = rescueRef(newId("ses", 1), seed);
    await saveRescue(await openRepository(run, dir), { ref, handle: "ada", reason: "a test" });
    expect(await stateOf(repo, dir)).toEqual(before);
    await rm(dir, { recursive: true });
    await repo.git("worktree", "prune", "--expire", "now");
    await repo.git("reflog", "expire", "--expire=now", "--all");
    await repo.git("gc", "-q", "--prune=now");
    await restoreRescue(run, await openRepository(run, repo.dir), { ref, dir });
    expect(await stateOf(repo, dir)).toEqual(before);
    await rm(dir, { recursive: true });
  });

  it("is refused for a nested repository with work of its own, and never overwrites a rescue or a folder", async () => {
    const repo = await gitRepo({ "a.txt": "one\n" });
    const run = await runner();
    const repository = await openRepository(run, repo.dir);
    const ref = rescueRef(newId("ses", 1), 1);
    const about = { ref, handle: "ada", reason: "a test" };
    await saveRescue(repository, about);
    await expect(saveRescue(repository, about)).rejects.toThrow();
    await expect(restoreRescue(run, repository, { ref, dir: repo.dir })).rejects.toMatchObject({ code: "conflict" });
    await mkdir(join(repo.dir, "nested"));
    await repo.git("init", "-q", "nested");
    await writeFile(join(repo.dir, "nested/work.txt"), "only here\n");
    const other = { ...about, ref: rescueRef(newId("ses", 1), 2) };
    await expect(saveRescue(repository, other)).rejects.toThrow("the nested repository nested has work");
    expect(await repo.git("for-each-ref", other.ref)).toBe("");
  });

  it("runs no filter of a nested repository", async () => {
    const repo = await gitRepo({ "a.txt": "one\n" });
    const mark = join(await tempDir(), "ran");
    const inner = (...args: string[]) => repo.git("-C", "nested", ...args);
    await mkdir(join(repo.dir, "nested"));
    await inner("init", "-q");
    await writeFile(join(repo.dir, "nested/s.txt"), "one\n");
    await inner("add", "-A");
    await inner("commit", "-q", "-m", "x");
    await inner("config", "filter.evil.clean", `touch ${mark}; cat`);
    await writeFile(join(repo.dir, "nested/.git/info/attributes"), "* filter=evil\n");
    await writeFile(join(repo.dir, "nested/s.txt"), "two\n");
    const repository = await openRepository(await runner(), repo.dir);
    const options = { ref: rescueRef(newId("ses", 1), 1), handle: "ada", reason: "test" };
    await expect(saveRescue(repository, options)).rejects.toThrow("the nested repository nested has work");
    expect(existsSync(mark)).toBe(false);
  });

  it.each([
    ["a folder above", { dirs: ["../../planted"] }],
    ["the git folder", { dirs: [".git/hooks"] }],
    ["a folder behind a link", { dirs: ["link/planted"] }],
  ])("that came with the repository is not restored into %s", async (_, change) => {
    const repo = await gitRepo({ "a.txt": "one\n" });
    const outside = await tempDir();
    await symlink(outside, join(repo.dir, "link"));
    const run = await runner();
    const repository = await openRepository(run, repo.dir);
    const ref = rescueRef(newId("ses", 1), 1);
    await saveRescue(repository, { ref, handle: "ada", reason: "test" });
    const meta = { ...JSON.parse(await repo.git("cat-file", "blob", `${ref}:meta.json`)), ...change };
    await writeFile(join(repo.dir, "meta"), JSON.stringify(meta));
    const blob = await repo.git("hash-object", "-w", "meta");
    const worktree = await repo.git("rev-parse", `${ref}:worktree`);
    const input = `100644 blob ${blob}\tmeta.json\n040000 tree ${worktree}\tworktree\n`;
    const tree = (await repository.git(["mktree"], { input })).stdout.toString().trim();
    await repo.git("update-ref", ref, await repo.git("commit-tree", tree, "-m", "forged"));
    const parent = await tempDir();
    const dir = join(parent, "a", "restored");
    await expect(restoreRescue(run, repository, { ref, dir })).rejects.toThrow("outside its folder");
    expect(await readdir(parent)).toEqual(["a"]);
    expect(await readdir(outside)).toEqual([]);
  });
});
