/**
 * What a person may do with unknown state: look into it without changing it, adopt it as shown, or set it aside. Needs no
 * daemon.
 */
import { constants, existsSync } from "node:fs";
import { copyFile, lstat, mkdtemp, readdir, realpath, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { stateDir, storePath } from "@aegis/lib/daemon-file.ts";
import { containedPath, isErrno } from "@aegis/lib/files.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { writeIdentity } from "@aegis/store-sqlite/identity.ts";
import { readContents, type Waiting } from "@aegis/store-sqlite/waiting.ts";
import { digestOf, identityOf } from "./fingerprint.ts";
import { containedStateDir, hideFromGit, isThere, makeStateFolder, refuseLinks } from "./folder.ts";
import { closedContent, type StatePlace } from "./hold.ts";
import { judgeState, requireKey, type UnknownReason } from "./judge.ts";
import { ProjectLock, takenBy } from "./lock.ts";
import { writeMarker } from "./marker.ts";
import { newStateId, ProjectRecords } from "./project-records.ts";

export type StateContents = {
  path: string;
  /** Identifies the exact database content that a person agrees to. Null if there is no database. */
  digest: string | null;
  /** The reason why it cannot be adopted, or null. */
  problem: string | null;
  waiting: Waiting[];
  /** The names of the other files in the folder. */
  files: string[];
};

/** `limit` is the number of items per kind. */
export async function lookIntoState(root: string, limit: number): Promise<StateContents> {
  const dir = await containedStateDir(root);
  await refuseLinks(root);
  const files = await readdir(dir).catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  });
  const others = files.filter((name) => !name.startsWith("aegis.db")).sort();
  const path = storePath(root);
  if (!(await isFile(path))) return { path: dir, digest: null, problem: null, waiting: [], files: others };
  const folder = await mkdtemp(join(tmpdir(), "aegis-state-"));
  try {
    // The log may contain data that is not in the database yet. SQLite recreates its other side file.
    const copy = join(folder, "aegis.db");
    for (const suffix of ["", "-wal"])
      if (await isFile(path + suffix)) await copyFile(path + suffix, copy + suffix, constants.COPYFILE_FICLONE);
    const digest = await digestOf(copy);
    return { path: dir, digest, ...readContents(copy, limit), files: others };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    const found = await lstat(path);
    if (found.isFile()) return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
  throw new AegisError("unavailable", `${path} is not a file`, { hint: "set it aside with: aegis state set-aside" });
}

/**
 * Makes the state the user's if its database still has the content that was shown. Throws `conflict` if it has changed,
 * and `unavailable` if it is unusable. After a crash in the middle, the state is still unknown.
 */
export async function adoptState({ root, home, clock }: StatePlace, digest: string | null): Promise<void> {
  await using scope = new AsyncDisposableStack();
  const records = await holdFolder(root, home, scope);
  if ((await judgeState(root, home)).kind !== "unknown")
    throw new AegisError("conflict", `the state in ${stateDir(root)} is yours already`);
  await refuseLinks(root);
  const seen = await lookIntoState(root, 0);
  if (seen.digest !== digest)
    throw new AegisError("conflict", "nothing was adopted: the state changed since it was shown", {
      hint: "look again with: aegis state show",
      details: { shown: digest, found: seen.digest },
    });
  if (seen.problem !== null) throw cannotAdopt(root, seen.problem);
  const dir = await makeStateFolder(root);
  // Unknown state must not decide which processes to end, which address to use or which code to run.
  for (const name of ["daemon.json", "processes.jsonl", "plugin-cache"])
    await rm(join(dir, name), { recursive: true, force: true });
  const [id, path] = [newStateId(), storePath(root)];
  if (digest !== null) writeIdentity(path, id);
  const file = await identityOf(path);
  const entry = { root, file, closed: null, since: new Date(clock.now()).toISOString(), adopted: true };
  await records.write(id, { ...entry, closed: await closedContent(path, entry) });
  await writeMarker(dir, id, await requireKey(home));
}

export function cannotAdopt(root: string, problem: string): AegisError {
  return new AegisError("unavailable", `the database in ${stateDir(root)} cannot be adopted: ${problem}`, {
    hint: "set it aside and start fresh with: aegis state set-aside",
  });
}

/**
 * Renames the folder, regardless of its content, so that the next daemon starts with new state. Returns the new path,
 * or null if there was no folder.
 */
export async function setStateAside({ root, home, clock }: StatePlace): Promise<string | null> {
  const path = stateDir(root);
  if ((await containedPath(root, ".aegis")) === null)
    throw new AegisError("unavailable", `${join(root, ".aegis")} leads out of the project through a link`, {
      hint: "remove the link; nothing behind it was touched",
    });
  if (!(await isThere(path))) return null;
  await using scope = new AsyncDisposableStack();
  await holdFolder(root, home, scope);
  const stamp = new Date(clock.now()).toISOString().replace(/[-:]|\.\d+/g, "");
  let target = `${path}.${stamp}`;
  for (let n = 2; existsSync(target); n++) target = `${path}.${stamp}-${n}`;
  await rename(path, target);
  await hideFromGit(target);
  return target;
}

export type StateOwner =
  | { owner: "none" }
  | { owner: "you"; id: string; since: string; adopted: boolean }
  | { owner: "unknown"; reason: UnknownReason; message: string };

/** The state of the project in a folder, for the user of an environment. */
export async function statePlace(folder: string, env: Environment): Promise<StatePlace> {
  return { root: await realpath(folder), home: homeOf(env), clock: systemClock };
}

/** Describes for people whose state a project holds. */
export async function stateOwner({ root, home }: StatePlace): Promise<StateOwner> {
  const verdict = await judgeState(root, home);
  if (verdict.kind === "new") return { owner: "none" };
  if (verdict.kind === "unknown") return { owner: "unknown", reason: verdict.reason, message: verdict.message };
  const { id, entry } = verdict;
  return { owner: "you", id, since: entry.since, adopted: entry.adopted };
}

/** Keeps daemons out of the folder. Older versions take only the lock in the folder itself. */
async function holdFolder(root: string, home: string, scope: AsyncDisposableStack): Promise<ProjectRecords> {
  const records = new ProjectRecords(home);
  const lock = await records.tryLock({ root });
  if (lock === null) throw await takenBy(root, home);
  scope.use(lock);
  const lockFile = join(stateDir(root), "lock.db");
  // Does not open a link. No version of the daemon creates one here.
  if (await isPlainFile(lockFile)) {
    const inFolder = ProjectLock.take(stateDir(root));
    if (inFolder === null) throw await takenBy(root, home);
    scope.use(inFolder);
  }
  return records;
}

async function isPlainFile(path: string): Promise<boolean> {
  const [folder, file] = await Promise.all([lstat(dirname(path)), lstat(path)]).catch(() => [null, null]);
  return folder?.isDirectory() === true && file?.isFile() === true;
}
