/**
 * Puts a skill in place, or takes it away, so that a crash at any moment leaves the old state or the new one. What is to
 * be done is written down before anything moves; whoever comes next after a crash finishes it or leaves it undone.
 */
import { createHash, randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { AegisError } from "../../../contract/errors.ts";
import { type InstalledSkill, installedSkillSchema, type SkillScope } from "../../../contract/skill-install.ts";
import type { Clock } from "../../../lib/clock.ts";
import { processStartTime } from "../../../lib/daemon-file.ts";
import { FileLockBusy, withFileLock } from "../../../lib/file-lock.ts";
import { isErrno, makePrivateDir, writeAtomic } from "../../../lib/files.ts";
import { treeHash } from "../../../lib/safe-tree.ts";
import { writeLock } from "./lockfile.ts";

/** Where the skills of one scope are, and what stands beside them. */
export type InstallPlace = {
  scope: SkillScope;
  skills: string;
  /** On the same disk as the skills, so that moving is one step. */
  staging: string;
  lock: string;
};

export function installPlaces(root: string, stateDir: string, home: string): Record<SkillScope, InstallPlace> {
  const [project, user] = [join(root, ".aegis"), join(home, ".aegis")];
  return {
    project: {
      scope: "project",
      skills: join(project, "skills"),
      staging: join(stateDir, "staging", "skills"),
      lock: join(project, "skills.lock"),
    },
    user: {
      scope: "user",
      skills: join(user, "skills"),
      staging: join(user, "staging", "skills"),
      lock: join(user, "skills.lock"),
    },
  };
}

/** The steps that change something. Replaced only by tests, which stop between them. */
export type Disk = {
  write: typeof writeAtomic;
  rename: typeof rename;
  writeLock: typeof writeLock;
  remove: (path: string) => Promise<void>;
};

export const realDisk: Disk = {
  write: writeAtomic,
  rename,
  writeLock,
  remove: (path) => rm(path, { recursive: true, force: true }),
};

/** What a system or a language leaves behind by itself: not taken along, and no edit when it appears. */
export const ignoredNames: readonly string[] = [".git", ".DS_Store", "__MACOSX", "__pycache__"];

/** The hash that is written down: over everything that was taken along. */
export function skillHash(folder: string): Promise<string> {
  return treeHash(folder, { skip: ignoredNames });
}

/** A folder to prepare one change in. Named after its process, so that others can tell when it is left over. */
export async function makeStage(place: InstallPlace): Promise<string> {
  const stage = join(place.staging, `${await ownerMark(process.pid)}-${randomBytes(6).toString("hex")}`);
  await makePrivateDir(stage);
  return stage;
}

/** Where the tree that is to be put in place is prepared. */
export function stagedTree(stage: string): string {
  return join(stage, "new");
}

/** Moves the tree of `stage` to `folder`, over what is there, and removes the stage. Throws with all as it was before. */
export async function putInPlace(
  place: InstallPlace,
  stage: string,
  folder: string,
  entry: InstalledSkill,
  disk: Disk = realDisk,
): Promise<void> {
  const target = join(place.skills, folder);
  await mkdir(place.skills, { recursive: true });
  await disk.write(changeFile(stage), JSON.stringify({ folder, entry } satisfies Change));
  const undo: (() => Promise<void>)[] = [];
  try {
    if (await exists(target)) undo.push(await move(disk, target, oldTree(stage)));
    undo.push(await move(disk, stagedTree(stage), target));
    await disk.writeLock(place.lock, folder, entry);
  } catch (error) {
    for (const back of undo.reverse()) await back();
    throw error;
  }
  await disk.remove(stage);
}

/** Takes `folder` away, which may be gone already. */
export async function takeAway(place: InstallPlace, folder: string, disk: Disk = realDisk): Promise<void> {
  const stage = await makeStage(place);
  await disk.write(changeFile(stage), JSON.stringify({ folder, entry: null } satisfies Change));
  const target = join(place.skills, folder);
  const undo = (await exists(target)) ? await move(disk, target, oldTree(stage)) : null;
  try {
    await disk.writeLock(place.lock, folder, null);
  } catch (error) {
    await undo?.();
    await disk.remove(stage);
    throw error;
  }
  await disk.remove(stage);
}

/** Finishes or undoes what dead processes left, and removes their stages. Call it with the place held. */
export async function sweep(place: InstallPlace, disk: Disk = realDisk): Promise<number> {
  const names = await readdir(place.staging).catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  });
  let swept = 0;
  for (const name of names) {
    const owner = /^(\d+)-[0-9a-f]{8}(?=-)/.exec(name);
    if (owner === null || (await ownerMark(Number(owner[1]))) === owner[0]) continue;
    const stage = join(place.staging, name);
    await settle(place, stage, disk);
    await disk.remove(stage);
    swept++;
  }
  return swept;
}

/** One change at a time in a place, over all processes; what a dead one left is swept first. */
export async function holding<T>(
  place: InstallPlace,
  work: () => Promise<T>,
  options: { clock: Clock; signal: AbortSignal },
): Promise<T> {
  await makePrivateDir(place.staging);
  try {
    return await withFileLock(
      join(place.staging, "lock.db"),
      async () => {
        await sweep(place);
        return work();
      },
      options,
    );
  } catch (error) {
    if (!(error instanceof FileLockBusy)) throw error;
    throw new AegisError("conflict", `another process is changing the skills in ${place.skills}`, { cause: error });
  }
}

export async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
}

const changeSchema = z.object({ folder: z.string(), entry: installedSkillSchema.nullable() });
type Change = z.infer<typeof changeSchema>;

async function settle(place: InstallPlace, stage: string, disk: Disk): Promise<void> {
  const change = await readChange(stage);
  if (change === null) return;
  const { folder, entry } = change;
  const target = join(place.skills, folder);
  if (entry === null) {
    if (!(await exists(target))) await disk.writeLock(place.lock, folder, null);
    return;
  }
  const prepared = await exists(stagedTree(stage));
  const there = await exists(target);
  // Both there: nothing had moved yet, and the old one stays. Neither: somebody removed it since.
  if (prepared === there) return;
  if (prepared) await disk.rename(stagedTree(stage), target);
  await disk.writeLock(place.lock, folder, entry);
}

/** Null when the crash came before it was written whole: then nothing had moved. */
async function readChange(stage: string): Promise<Change | null> {
  try {
    return changeSchema.parse(JSON.parse(await readFile(changeFile(stage), "utf8")));
  } catch (error) {
    if (isErrno(error, "ENOENT") || error instanceof SyntaxError || error instanceof z.ZodError) return null;
    throw error;
  }
}

/** Returns its undo. */
async function move(disk: Disk, from: string, to: string): Promise<() => Promise<void>> {
  try {
    await disk.rename(from, to);
    return () => disk.rename(to, from);
  } catch (error) {
    if (!isErrno(error, "EXDEV")) throw error;
    throw new AegisError("conflict", `${dirname(to)} is on another disk than ${dirname(from)}`, {
      hint: "skills are put in place in one step, which works on one disk only",
      cause: error,
    });
  }
}

async function ownerMark(pid: number): Promise<string> {
  const started = (await processStartTime(pid)) ?? "gone";
  return `${pid}-${createHash("sha256").update(started).digest("hex").slice(0, 8)}`;
}

function changeFile(stage: string): string {
  return join(stage, "change.json");
}

function oldTree(stage: string): string {
  return join(stage, "old");
}
