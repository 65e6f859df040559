import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it, onTestFinished } from "vitest";
import { FolderWatch } from "../src/watch.ts";

function watched(dir: string, name: string) {
  const folders = [join(dir, name)];
  const seen = { count: 0 };
  const watch = new FolderWatch({
    onChange: () => {
      seen.count += 1;
      watch.follow(folders);
    },
    quietMs: 20,
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => watch.close());
  watch.follow(folders);
  const next = async (change: () => Promise<unknown>) => {
    const before = seen.count;
    await change();
    await waitUntil("the change is told", () => seen.count > before);
  };
  return { seen, next };
}

it("waits for a folder that is not there yet, and sees it replaced", async () => {
  const dir = await tempDir();
  const { next } = watched(dir, "plugins");
  const folder = join(dir, "plugins");
  await next(() => mkdir(folder));
  await next(() => writeFile(join(folder, "a.ts"), "1"));
  await next(async () => {
    await rename(folder, join(dir, "old"));
    await mkdir(folder);
  });
  await next(() => writeFile(join(folder, "b.ts"), "1"));
  await next(() => rm(join(folder, "b.ts")));
});

it("is not disturbed by what happens beside a folder that is not there", async () => {
  const dir = await tempDir();
  const { seen, next } = watched(dir, "plugins");
  // Follows the noise itself: once it has told of it, the other one would have too.
  const noise = watched(dir, "noise");
  await noise.next(() => writeFile(join(dir, "noise"), "x"));
  expect(seen.count).toBe(0);
  await next(() => mkdir(join(dir, "plugins")));
});
