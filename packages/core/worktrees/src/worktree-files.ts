/** Makes a new worktree usable: copies and links ignored files of the project, and runs the configured commands. */
import { constants, existsSync } from "node:fs";
import { chmod, cp, glob, lstat, mkdir, realpath, symlink } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { childEnv, type Environment } from "@aegis/lib/child-env.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import { containedPath, isInside } from "@aegis/lib/files.ts";
import type { Repository } from "@aegis/lib/git/repository.ts";
import { fields } from "@aegis/lib/git/run.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { onAbort } from "@aegis/lib/until-aborted.ts";

type FillSettings = { setup: readonly string[]; copy: readonly string[]; link: readonly string[] };

export type FillOptions = {
  /** The project's working tree. */
  repository: Repository;
  dir: string;
  settings: () => FillSettings;
  /** Throws if the commands must be confined and cannot be. */
  confine: () => Promise<Processes>;
  /** Proof that the user trusts the commands; one is valid for one start. */
  consent: () => Promise<Consent>;
  daemonEnv: Environment;
  /** Variables for the commands. */
  env: Readonly<Record<string, string>>;
  signal: AbortSignal;
};

const setupTimeoutMs = 30 * 60_000;

export async function fillWorktree(options: FillOptions): Promise<void> {
  const { repository, dir } = options;
  const { copy, link, setup } = options.settings();
  for (const path of await ignoredFiles(repository, copy)) await copyFile(repository.root, dir, path);
  for (const path of await ignoredFiles(repository, link)) await linkFile(repository.root, dir, path);
  for (const command of setup) await runSetup(command, options);
}

/** Only ignored files: everything else is in the worktree already, or is uncommitted work. */
async function ignoredFiles({ root, git }: Repository, patterns: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const pattern of patterns)
    for await (const path of glob(pattern, { cwd: root, exclude: (name) => basename(name) === ".git" })) {
      const real = await realpath(join(root, path)).catch(() => null);
      if (real !== null && isInside(root, real) && path !== ".") found.add(path.split(sep).join("/"));
    }
  if (found.size === 0) return [];
  const input = [...found].map((path) => `${path}\0`).join("");
  const ignored = await git(["check-ignore", "-z", "--stdin"], { input, codes: [0, 1], pathspecs: true });
  return fields(ignored.stdout)
    .map((field) => Buffer.from(field, "latin1").toString("utf8"))
    .sort();
}

/** Where the file goes. The commit may have a link in its path, through which the file would leave the worktree. */
async function placeIn(dir: string, path: string): Promise<string> {
  if ((await containedPath(dir, path)) !== null) return join(dir, path);
  throw new AegisError("forbidden", `${path} is not copied into the worktree: a link in its path leads elsewhere`, {
    hint: "see git ls-tree HEAD, and worktrees.copy and worktrees.link in the configuration",
  });
}

async function copyFile(root: string, dir: string, path: string): Promise<void> {
  const to = await placeIn(dir, path);
  await mkdir(dirname(to), { recursive: true });
  // Shares the blocks where the file system can.
  await cp(join(root, path), to, {
    recursive: true,
    force: true,
    mode: constants.COPYFILE_FICLONE,
    verbatimSymlinks: true,
  });
  if (/^\.env(\.|$)/.test(basename(path)) && (await lstat(to)).isFile()) await chmod(to, 0o600);
}

async function linkFile(root: string, dir: string, path: string): Promise<void> {
  const to = await placeIn(dir, path);
  if (existsSync(to)) return;
  await mkdir(dirname(to), { recursive: true });
  await symlink(join(root, path), to);
}

async function runSetup(command: string, options: FillOptions): Promise<void> {
  const { confine, consent, daemonEnv, env, dir, signal } = options;
  const processes = await confine();
  const child = await processes.start(
    { argv: ["sh", "-c", `exec 2>&1; ${command}`], cwd: dir, env: childEnv(daemonEnv, [], { ...env }) },
    await consent(),
  );
  const deadline = AbortSignal.timeout(setupTimeoutMs);
  const release = onAbort(AbortSignal.any([signal, deadline]), () => void child.stop());
  try {
    child.stdin.end();
    let tail = "";
    for await (const chunk of child.stdout) tail = (tail + Buffer.from(chunk).toString("utf8")).slice(-2_000);
    const { code } = await child.exited;
    if (code === 0) return;
    const how = deadline.aborted ? "took longer than 30 minutes" : `failed with exit code ${code}`;
    throw new AegisError("unavailable", `the setup command \`${command}\` ${how}: ${tail.trim().slice(-500)}`, {
      hint: "correct worktrees.setup; the next message tries again",
    });
  } finally {
    release();
    await child.stop();
  }
}
