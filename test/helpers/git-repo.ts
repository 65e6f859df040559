/** A git repository on disk, and child processes to read it with. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses, type Processes } from "@aegis/lib/process.ts";
import { tempDir } from "./temp-dir.ts";

const run = promisify(execFile);

export type GitRepo = {
  dir: string;
  url: string;
  /** Writes files, commits them and returns the commit. */
  commit(files: Record<string, string>): Promise<string>;
  git(...args: string[]): Promise<string>;
};

export async function gitRepo(files: Record<string, string>): Promise<GitRepo> {
  const dir = await tempDir();
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: dir,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@example.com",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@example.com",
  };
  const git = async (...args: string[]) => (await run("git", args, { cwd: dir, env })).stdout.trim();
  const repo: GitRepo = {
    dir,
    url: `file://${dir}`,
    git,
    async commit(changed) {
      for (const [path, text] of Object.entries(changed)) {
        await mkdir(dirname(join(dir, path)), { recursive: true });
        await writeFile(join(dir, path), text);
      }
      await git("add", "-A");
      await git("commit", "-q", "-m", "change");
      return git("rev-parse", "HEAD");
    },
  };
  await git("init", "-q", "-b", "main");
  await repo.commit(files);
  return repo;
}

export async function testProcesses(): Promise<Processes> {
  const dir = await tempDir();
  return createProcesses({ ledgerFile: join(dir, "children"), owner: dir, clock: systemClock, log: silentLogger });
}
