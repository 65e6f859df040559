/** A folder for one test, removed with it. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export async function tempDir(): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "aegis-test-")));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
