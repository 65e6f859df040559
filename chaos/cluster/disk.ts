/** A small disk in memory that can be full, where this user may mount one. */
import { execFileSync } from "node:child_process";
import { cp, mkdtemp, rename, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Files are written in parts, so that the last of them takes what is left. */
const partBytes = 8 * 1024 * 1024;
const mostTries = 100;

/** Fills a disk, and returns the function that frees it. */
export type Fill = () => Promise<() => Promise<void>>;

export type Disk = {
  fill: Fill;
  /** Detaches the disk. What is on it is gone unless it shall be kept. */
  remove(keep?: boolean): Promise<void>;
};

/** On a folder that exists. Null if this user may not mount. */
export function mountDisk(dir: string, megabytes: number): Disk | null {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=755`, "tmpfs", dir], { stdio: "pipe" });
  } catch {
    return null;
  }
  return {
    fill: () => fill(join(dir, "filler")),
    async remove(keep = false) {
      const kept = keep ? await mkdtemp(join(dir, "..", "kept-")) : null;
      if (kept !== null) await cp(dir, kept, { recursive: true, verbatimSymlinks: true });
      await detach(dir);
      await rm(dir, { recursive: true });
      if (kept !== null) await rename(kept, dir);
    },
  };
}

/** Processes of a server that was killed may use the disk for a moment. */
async function detach(dir: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      execFileSync("umount", [dir], { stdio: "pipe" });
      return;
    } catch (error) {
      if (tries === mostTries) throw error;
      await delay(100);
    }
  }
}

/** In a folder of its own. */
export async function createDisk(megabytes: number): Promise<(Disk & { dir: string }) | null> {
  const dir = await mkdtemp(join(tmpdir(), "aegis-disk-"));
  const disk = mountDisk(dir, megabytes);
  if (disk === null) await rm(dir, { recursive: true });
  return disk === null ? null : { ...disk, dir };
}

async function fill(filler: string): Promise<() => Promise<void>> {
  const part = Buffer.alloc(partBytes);
  const { bavail, bsize } = await statfs(join(filler, ".."));
  let left = bavail * bsize;
  try {
    for (let flag = "w"; left > 0; flag = "a") {
      await writeFile(filler, part.subarray(0, Math.min(left, partBytes)), { flag });
      left -= partBytes;
    }
  } catch {
    // Another program took the rest meanwhile.
  }
  return () => rm(filler, { force: true });
}
