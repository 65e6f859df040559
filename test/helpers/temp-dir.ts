/** A folder for one test, removed with it. */
import { constants } from "node:fs";
import { access, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { testFolder } from "./test-folder.ts";

export function tempDir(): Promise<string> {
  return dirBelow(testFolder());
}

/** The same on the system's own disk, for a test that needs two file systems or shows paths, which are short there. */
export function diskDir(): Promise<string> {
  return dirBelow(tmpdir());
}

/**
 * The same for Codex, which starts the system's bubblewrap for its commands: they see a /dev of their own, so nothing in
 * memory, and it puts its helper into no folder of the system for temporary files.
 */
export function codexDir(): Promise<string> {
  return dirBelow("/var/tmp");
}

/**
 * The same in memory, also where there is too little of it for all tests: a database of the test's own process does not
 * wait for a disk there. A test that stops after each commit writes tens of thousands of commits.
 */
export async function memoryDir(): Promise<string> {
  const shared = "/dev/shm";
  const usable = await access(shared, constants.W_OK).then(
    () => true,
    () => false,
  );
  return dirBelow(usable ? shared : tmpdir());
}

async function dirBelow(folder: string): Promise<string> {
  const path = await realpath(await mkdtemp(join(folder, "aegis-test-")));
  onTestFinished(() => rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 }));
  return path;
}
