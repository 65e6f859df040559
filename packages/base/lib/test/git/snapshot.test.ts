// @module-tag slow
/** Snapshots contain what is on disk in every state of a working tree, and leave the user's index, HEAD and refs as they were. */
import { chmod, mkdir, readFile, rename, rm, stat, symlink, unlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type GitRepo, gitRepo, testProcesses } from "@aegis/test/helpers/git-repo.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { createRandom } from "../../../../../chaos/random.ts";
import { diffTrees } from "../../src/git/diff.ts";
import { openRepository } from "../../src/git/repository.ts";
import { gitRunner, line, type RunGit } from "../../src/git/run.ts";
import { largestUntracked, takeSnapshot } from "../../src/git/snapshot.ts";

async function runner(): Promise<RunGit> {
  const env = { PATH: process.env.PATH, HOME: await tempDir() };
  return gitRunner({ processes: await testProcesses(), env });
}

type Work = {
  repo: GitRepo;
  write(path: string, text: string | Uint8Array): Promise<void>;
  /** `A path`, `R from → to`: what differs from HEAD, sorted. */
  changed(): Promise<string[]>;
};

async function work(files: Record<string, string> = { "a.txt": "one\n", "dir/b.txt": "two\n" }): Promise<Work> {
  const repo = await gitRepo(files);
  const run = await runner();
  return {
    repo,
    async write(path, text) {
      await mkdir(dirname(join(repo.dir, path)), { recursive: true });
      await writeFile(join(repo.dir, path), text);
    },
    async changed() {
      const before = await untouchable(repo);
      const repository = await openRepository(run, repo.dir);
      const { tree } = await takeSnapshot(repository, { name: "test" });
      expect(await untouchable(repo)).toEqual(before);
      const empty = await repo.git("hash-object", "-t", "tree", "/dev/null");
      const head = await repo.git("rev-parse", "HEAD^{tree}").catch(() => empty);
      return (await diffTrees(repository, head, tree)).map(
        ({ status, from, path, old_mode, new_mode }) =>
          `${status} ${from === null ? "" : `${from} → `}${path}${status === "modified" && old_mode !== new_mode ? ` ${new_mode}` : ""}`,
      );
    },
  };
}

/** What a snapshot must not touch, with the time of the index. */
async function untouchable(repo: GitRepo) {
  const index = join(repo.dir, ".git/index");
  const bytes = await readFile(index).catch(() => null);
  const time = bytes === null ? null : (await stat(index)).mtimeMs;
  const refs = await repo.git("for-each-ref").catch(() => "");
  return { bytes, time, refs, head: await readFile(join(repo.dir, ".git/HEAD"), "utf8") };
}

it("contains untracked files with odd names, and no ignored ones", async () => {
  const { write, changed } = await work();
  await write(".gitignore", "*.log\n");
  for (const path of ["new.txt", "a b\t.txt", "line\nfeed.txt", "ü.txt", "x.log"]) await write(path, "x\n");
  expect((await changed()).sort()).toEqual(
    ["added .gitignore", "added a b\t.txt", "added line\nfeed.txt", "added new.txt", "added ü.txt"].sort(),
  );
});

it("contains renames, deletions, modes, links and binary files", async () => {
  const { repo, write, changed } = await work();
  await rename(join(repo.dir, "dir/b.txt"), join(repo.dir, "dir/c.txt"));
  await chmod(join(repo.dir, "a.txt"), 0o755);
  await symlink("a.txt", join(repo.dir, "link"));
  await write("blob", new Uint8Array([0, 1, 2, 255]));
  expect((await changed()).sort()).toEqual([
    "added blob",
    "added link",
    "modified a.txt 100755",
    "renamed dir/b.txt → dir/c.txt",
  ]);
});

it("sees an edit of the same size in the same second, also when the index is copied", async () => {
  const { repo, write, changed } = await work();
  const { mtime } = await stat(join(repo.dir, "a.txt"));
  await write("a.txt", "two\n");
  await utimes(join(repo.dir, "a.txt"), mtime, mtime);
  expect(await changed()).toEqual(["modified a.txt"]);
});

it("sees edits that flags of the index hide", async () => {
  const { repo, write, changed } = await work();
  await repo.git("update-index", "--assume-unchanged", "a.txt");
  await repo.git("update-index", "--skip-worktree", "dir/b.txt");
  await write("a.txt", "changed\n");
  await write("dir/b.txt", "changed\n");
  expect(await changed()).toEqual(["modified a.txt", "modified dir/b.txt"]);
});

it("works in the middle of a merge, with staged work, and on a branch without a commit", async () => {
  const { repo, write, changed } = await work();
  await repo.git("checkout", "-q", "-b", "other");
  await repo.commit({ "a.txt": "theirs\n" });
  await repo.git("checkout", "-q", "main");
  await repo.commit({ "a.txt": "ours\n" });
  await repo.git("merge", "other").catch(() => {});
  await write("staged.txt", "1\n");
  await repo.git("add", "staged.txt");
  await write("staged.txt", "2\n");
  expect(await changed()).toEqual(["modified a.txt", "added staged.txt"]);
  const unborn = await gitRepo({ "a.txt": "one\n" });
  await unborn.git("checkout", "-q", "--orphan", "fresh");
  await unborn.git("rm", "-rq", "--cached", ".");
  const repository = await openRepository(await runner(), unborn.dir);
  expect(await takeSnapshot(repository, { name: "test" })).toMatchObject({ head: null });
});

it("survives a nested repository without a commit, a damaged index of its own and a stale lock", async () => {
  const { repo, write, changed } = await work();
  await mkdir(join(repo.dir, "nested"));
  await repo.git("init", "-q", "nested");
  await write("new.txt", "x\n");
  expect(await changed()).toEqual(["added new.txt"]);
  await writeFile(join(repo.dir, ".git/aegis/index-test"), "damaged");
  await writeFile(join(repo.dir, ".git/aegis/index-test.lock"), "");
  expect(await changed()).toEqual(["added new.txt"]);
});

it("contains the files after every change, like an index that git makes from nothing", async () => {
  const paths = ["a", "a/b", "a/b/c", "d", "d/e", "f g", "h.ignored"];
  for (const seed of [1, 2, 3]) {
    const random = createRandom(seed);
    const { repo } = await work({ "a/b": "1\n", d: "2\n", "f g": "3\n", ".gitignore": "*.ignored\n" });
    const repository = await openRepository(await runner(), repo.dir);
    const steps: string[] = [];
    for (let step = 0; step < 25; step++) {
      const path = random.pick(paths);
      const place = join(repo.dir, path);
      const what = random.pick(["write", "write", "link", "remove", "mode", "stage", "commit"] as const);
      steps.push(`${what} ${path}`);
      if (what === "remove") await rm(place, { recursive: true, force: true }).catch(() => {});
      if (what === "mode") await chmod(place, 0o755).catch(() => {});
      if (what === "stage") await repo.git("add", "-A");
      if (what === "commit") await repo.git("commit", "-q", "--allow-empty", "-am", "change");
      if (what === "write" || what === "link") {
        // A folder becomes a file or a link, and a file or a link becomes a folder.
        await rm(place, { recursive: true, force: true }).catch(() => {});
        for (let at = dirname(path); at !== "."; at = dirname(at)) await unlink(join(repo.dir, at)).catch(() => {});
        await mkdir(dirname(place), { recursive: true });
        await (what === "link" ? symlink(random.pick(["d", ".", "a"]), place) : writeFile(place, `${step % 3}\n`));
      }
      const { tree } = await takeSnapshot(repository, { name: "test" });
      const index = join(await tempDir(), "index");
      const fresh = (...args: string[]) => repository.git(args, { env: { GIT_INDEX_FILE: index } });
      await fresh("add", "-A");
      expect([tree, ...steps]).toEqual([line(await fresh("write-tree")), ...steps]);
    }
  }
});

it("names large untracked files and dirty submodules instead of storing them", async () => {
  const { repo, write } = await work();
  const other = await gitRepo({ "s.txt": "s\n" });
  await repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", other.url, "sub");
  await repo.commit({});
  await write("sub/s.txt", "dirty\n");
  await write("huge.bin", Buffer.alloc(largestUntracked + 1));
  const repository = await openRepository(await runner(), repo.dir);
  expect(await takeSnapshot(repository, { name: "test" })).toMatchObject({
    skipped: [{ path: "huge.bin", size: largestUntracked + 1 }],
    dirty_submodules: ["sub"],
  });
});

it("runs no program that the repository's configuration names", async () => {
  const { repo, write, changed } = await work();
  const mark = join(await tempDir(), "ran");
  const script = join(repo.dir, "..", `${Date.now()}-run.sh`);
  await writeFile(script, `#!/bin/sh\ntouch ${mark}\ncat\n`, { mode: 0o755 });
  await write(".gitattributes", "* filter=evil diff=evil\n");
  for (const [key, value] of [
    ["filter.evil.clean", script],
    ["filter.evil.required", "true"],
    ["diff.evil.textconv", script],
    ["core.fsmonitor", script],
    ["hook.evil.command", script],
    ["hook.evil.event", "reference-transaction"],
  ])
    await repo.git("config", key ?? "", value ?? "");
  await write(".git/hooks/reference-transaction", `#!/bin/sh\ntouch ${mark}\n`);
  await chmod(join(repo.dir, ".git/hooks/reference-transaction"), 0o755);
  await write("a.txt", "changed\n");
  expect(await changed()).toEqual(["added .gitattributes", "modified a.txt"]);
  expect(await stat(mark).catch(() => null)).toBeNull();
  const { filtersOff } = await openRepository(await runner(), repo.dir);
  expect(filtersOff).toEqual(["diff.evil", "filter.evil"]);
  await rm(script);
});

/** A repository at `path` whose configuration names a program as a filter, with a file that git would filter. */
async function plantFilter({ repo, write }: Work, path: string, script: string): Promise<void> {
  const inner = (...args: string[]) => repo.git("-C", path, ...args);
  await inner("init", "-q");
  await write(`${path}/s.txt`, "s\n");
  await inner("add", "-A");
  await inner("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x");
  await inner("config", "filter.evil.clean", script);
  await inner("config", "filter.evil.required", "true");
  await write(`${path}/.git/info/attributes`, "* filter=evil\n");
}

async function planted(): Promise<{ mark: string; script: string }> {
  const dir = await tempDir();
  const [mark, script] = [join(dir, "ran"), join(dir, "run.sh")];
  await writeFile(script, `#!/bin/sh\ntouch ${mark}\ncat\n`, { mode: 0o755 });
  return { mark, script };
}

it("runs no program that the configuration of a submodule or a nested repository names, at any depth", async () => {
  const made = await work();
  const { mark, script } = await planted();
  for (const path of ["sub", "sub/deeper"]) {
    await mkdir(join(made.repo.dir, path), { recursive: true });
    await plantFilter(made, path, script);
  }
  await made.write("sub/.gitmodules", "");
  await made.write(".gitmodules", "");
  await made.repo.git("-C", "sub", "-c", "filter.evil.clean=", "-c", "filter.evil.required=false", "add", "-A");
  await made.repo.git("add", ".gitmodules", "sub");
  // The size is the same, so that only the content tells whether the file has changed.
  for (const path of ["sub", "sub/deeper"]) await made.write(`${path}/s.txt`, "t\n");
  const repository = await openRepository(await runner(), made.repo.dir);
  // The second snapshot begins with an index that links the nested repository.
  for (let time = 0; time < 2; time++)
    expect(await takeSnapshot(repository, { name: "test" })).toMatchObject({ dirty_submodules: ["sub"] });
  expect(await stat(mark).catch(() => null)).toBeNull();
});

it("records the commit of a submodule, its replacement by a file, and its removal", async () => {
  const { repo, write, changed } = await work();
  const other = await gitRepo({ "s.txt": "s\n" });
  await repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", other.url, "sub");
  await repo.commit({});
  expect(await changed()).toEqual([]);
  const author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
  await repo.git("-C", "sub", ...author, "commit", "-q", "--allow-empty", "-m", "next");
  expect(await changed()).toEqual(["modified sub"]);
  await rm(join(repo.dir, "sub"), { recursive: true });
  expect(await changed()).toEqual(["deleted sub"]);
  await write("sub", "a file\n");
  expect(await changed()).toEqual(["type_changed sub"]);
});

it("fetches no missing object with a program that the repository names", async () => {
  const { repo } = await work();
  const { mark, script } = await planted();
  for (const [key, value] of [
    ["core.repositoryFormatVersion", "1"],
    ["extensions.partialClone", "origin"],
    ["remote.origin.url", repo.dir],
    ["remote.origin.promisor", "true"],
    ["remote.origin.uploadpack", script],
  ])
    await repo.git("config", key ?? "", value ?? "");
  const repository = await openRepository(await runner(), repo.dir);
  await repository.git(["cat-file", "-p", "1".repeat(40)], { codes: [0, 128] });
  expect(await stat(mark).catch(() => null)).toBeNull();
});

it("refuses a repository whose configuration names another working tree", async () => {
  const { repo } = await work();
  await repo.git("config", "core.worktree", await tempDir());
  await expect(openRepository(await runner(), repo.dir)).rejects.toMatchObject({ problem: "unsafe" });
  await expect(openRepository(await runner(), await tempDir())).rejects.toMatchObject({ problem: "no_repository" });
});
