/**
 * Caches whether a harness starts, per version of its program. The cache is shared by all projects of the user and
 * keyed by the path and modification time of the program.
 */
import { readFile, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Driver, Probe } from "@aegis/drivers/driver.ts";
import { makePrivateDir, writeAtomic } from "@aegis/lib/files.ts";
import { z } from "zod";

const entrySchema = z.object({
  mtime: z.number(),
  size: z.number(),
  version: z.string().nullable(),
  detail: z.string(),
});
const cacheSchema = z.record(z.string(), entrySchema);
type Cache = z.infer<typeof cacheSchema>;

/** Long enough for a slow machine, short enough for a daemon start. */
const deadlineMs = 10_000;

/** `path` is the path of the harness's command. Only successes are cached, because a broken harness may be repaired. */
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

/** Identifies the program itself: the entry on PATH is often a link that survives an update. */
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

/** Failing to write the cache only costs time. */
async function keep(file: string, cache: Cache): Promise<void> {
  try {
    await makePrivateDir(dirname(file));
    await writeAtomic(file, JSON.stringify(cache), { mode: 0o600 });
  } catch {
    // The next start probes again.
  }
}
