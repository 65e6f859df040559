/**
 * Where the tests of one run put their files. A daemon waits for its disk some thirty times until it is up, so the
 * folder is in memory where the system has room for it there. The global setup makes it, and removes it with all that
 * tests left in it.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRunning } from "./pids.ts";

const variable = "AEGIS_TEST_FOLDER";
const memory = "/dev/shm";
/** A whole run has less than this at once, its PostgreSQL servers included. */
const neededBytes = 3 * 1024 ** 3;

/** The folder of this run, or the system's own for a program that is no test. */
export function testFolder(): string {
  return folderOfRun() ?? tmpdir();
}

/** What is in it lasts as long as the run. */
export function folderOfRun(): string | null {
  return process.env[variable] ?? null;
}

/** Returns what removes the folder again. */
export function makeTestFolder(): () => void {
  if (process.env[variable] !== undefined || !isRoomy(memory)) return () => {};
  removeAbandoned();
  const folder = mkdtempSync(join(memory, `aegis-tests-${process.pid}-`));
  // As the system's own: tests start programs of other users.
  chmodSync(folder, 0o1777);
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  if (!runsPrograms(folder)) {
    remove();
    return () => {};
  }
  process.env[variable] = folder;
  return remove;
}

function isRoomy(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return Math.min(bavail * bsize, process.availableMemory()) > 2 * neededBytes;
  } catch {
    return false;
  }
}

/** A container may mount its memory without the right to run files. */
function runsPrograms(folder: string): boolean {
  const script = join(folder, "probe");
  writeFileSync(script, "#!/bin/sh\n", { mode: 0o755 });
  const { status } = spawnSync(script);
  rmSync(script);
  return status === 0;
}

/** Folders of runs that were killed: memory is not freed otherwise. */
function removeAbandoned(): void {
  for (const name of readdirSync(memory)) {
    const pid = /^aegis-tests-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(memory, name), { recursive: true, force: true });
  }
}
