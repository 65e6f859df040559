import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { FolderWatch } from "../../../src/runtime/plugins/watch.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitUntil } from "../../helpers/wait-until.ts";

async function watched() {
  const dir = await tempDir();
  const seen = { count: 0 };
  const watch = new FolderWatch({
    onChange: () => {
      seen.count += 1;
      watch.follow([join(dir, "plugins")]);
    },
    quietMs: 20,
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => watch.close());
  watch.follow([join(dir, "plugins")]);
  const next = async (change: () => Promise<unknown>) => {
    const before = seen.count;
    await change();
    await waitUntil("the change is told", () => seen.count > before);
  };
  return { dir, seen, next };
}

it("waits for a folder that is not there yet, and sees it replaced", async () => {
  const { dir, next } = await watched();
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
  const { dir, seen, next } = await watched();
  await writeFile(join(dir, "noise"), "x");
  await delay(100);
  expect(seen.count).toBe(0);
  await next(() => mkdir(join(dir, "plugins")));
});
