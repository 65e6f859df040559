/**
 * Whether a harness starts, asked once per version of its program: the answer is kept for all projects of the user, by
 * the file it was found at and when that file was last changed.
 */
import { readFile, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Driver, Probe } from "../drivers/driver.ts";
import { makePrivateDir, writeAtomic } from "../lib/files.ts";

const entrySchema = z.object({
  mtime: z.number(),
  size: z.number(),
  version: z.string().nullable(),
  detail: z.string(),
});
const cacheSchema = z.record(z.string(), entrySchema);
type Cache = z.infer<typeof cacheSchema>;

/** Long enough for a slow machine, short enough for a start. */
const deadlineMs = 10_000;

/** `path` is where the harness's command is. Only a harness that starts is remembered: a broken one may be mended. */
export async function probeOnce(driver: Driver, path: string, home: string): Promise<Probe> {
  const file = join(home, ".aegis", "cache", "harnesses.json");
  const [cache, now] = await Promise.all([readCache(file), identityOf(path)]);
  const known = cache[path];
  if (known && now && known.mtime === now.mtime && known.size === now.size) {
    return { status: "ready", version: known.version, path, detail: known.detail, fix: null };
  }
  const probe = await driver.probe(AbortSignal.timeout(deadlineMs));
  if (probe.status === "ready" && now) {
    await keep(file, { ...cache, [path]: { ...now, version: probe.version, detail: probe.detail } });
  }
  return probe;
}

/** Of the program itself: what is on PATH is often a link that stays when the program is replaced. */
async function identityOf(path: string): Promise<{ mtime: number; size: number } | null> {
  try {
    const { mtimeMs, size } = await stat(await realpath(path));
    return { mtime: mtimeMs, size };
  } catch {
    return null;
  }
}

async function readCache(file: string): Promise<Cache> {
  try {
    return cacheSchema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return {};
  }
}

/** A cache that cannot be written costs time, nothing else. */
async function keep(file: string, cache: Cache): Promise<void> {
  try {
    await makePrivateDir(dirname(file));
    await writeAtomic(file, JSON.stringify(cache), { mode: 0o600 });
  } catch {
    // The next start asks again.
  }
}
