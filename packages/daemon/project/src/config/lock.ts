/**
 * A lock for writers in different processes on one machine. The lock is the file with the highest number in its folder.
 * A process takes it by linking the next number into place, which succeeds only once. A number is never reused while a
 * higher one exists, so a process with an outdated view can neither take nor remove a held lock. The lock of a dead
 * process is free.
 */
import { randomBytes } from "node:crypto";
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { type Clock, systemClock } from "@aegis/lib/clock.ts";
import { isSameProcess, processStartTime } from "@aegis/lib/daemon-file.ts";
import { isErrno } from "@aegis/lib/files.ts";

export type LockOptions = { waitMs?: number; clock?: Clock; signal?: AbortSignal };

const pauseMs = 15;
const defaultWaitMs = 10_000;
const lockName = /^config\.(\d+)\.lock$/;

/** Runs `work` while holding the lock in `folder`. Throws `conflict` if the lock stays taken. */
export async function withLock<T>(folder: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const clock = options.clock ?? systemClock;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const deadline = clock.now() + (options.waitMs ?? defaultWaitMs);
  const me: Owner = { pid: process.pid, start_time: (await processStartTime(process.pid)) ?? "" };
  while (true) {
    const result = await tryTake(folder, me);
    if ("path" in result) {
      try {
        return await work();
      } finally {
        await putInPlace(folder, { ...me, pid: 0 }, (temporary) => rename(temporary, result.path));
      }
    }
    if (clock.now() >= deadline)
      throw new AegisError("conflict", `another process (pid ${result.holder.pid}) is editing the configuration`, {
        hint: `wait for it to finish; it holds ${folder}`,
      });
    await clock.sleep(pauseMs + Math.random() * pauseMs, options.signal);
  }
}

/** A pid of 0 means that the lock was released. */
type Owner = { pid: number; start_time: string };

async function tryTake(folder: string, me: Owner): Promise<{ path: string } | { holder: Owner }> {
  const before = await highest(folder);
  const holder = before === 0 ? null : await readOwner(lockPath(folder, before));
  if (holder !== null && holder.pid !== 0 && (await isSameProcess(holder))) return { holder };
  const mine = before + 1;
  const path = lockPath(folder, mine);
  try {
    await putInPlace(folder, me, (temporary) => link(temporary, path));
  } catch (error) {
    if (isErrno(error, "EEXIST")) return { holder: me };
    throw error;
  }
  if ((await highest(folder)) !== mine) {
    await rm(path, { force: true });
    return { holder: me };
  }
  for (const number of (await numbers(folder)).filter((candidate) => candidate < mine))
    await rm(lockPath(folder, number), { force: true });
  return { path };
}

async function highest(folder: string): Promise<number> {
  return Math.max(0, ...(await numbers(folder)));
}

async function numbers(folder: string): Promise<number[]> {
  return (await readdir(folder)).flatMap((name) => {
    const number = lockName.exec(name)?.[1];
    return number === undefined ? [] : [Number(number)];
  });
}

/** Writes the content before the name exists, so readers never see a partial file. */
async function putInPlace(folder: string, owner: Owner, place: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = join(folder, `config.${randomBytes(6).toString("hex")}.tmp`);
  try {
    await writeFile(temporary, JSON.stringify(owner), { mode: 0o600 });
    await place(temporary);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Null if the file is gone or has an unknown format; the lock is free in both cases. */
async function readOwner(path: string): Promise<Owner | null> {
  try {
    const owner: unknown = JSON.parse(await readFile(path, "utf8"));
    return isOwner(owner) ? owner : null;
  } catch (error) {
    if (isErrno(error, "ENOENT") || error instanceof SyntaxError) return null;
    throw error;
  }
}

function isOwner(value: unknown): value is Owner {
  if (typeof value !== "object" || value === null) return false;
  return (
    "pid" in value && Number.isSafeInteger(value.pid) && "start_time" in value && typeof value.start_time === "string"
  );
}

function lockPath(folder: string, number: number): string {
  return join(folder, `config.${number}.lock`);
}
