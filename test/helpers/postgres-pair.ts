/** A primary and its standby, of the PostgreSQL that Debian packages: the npm package has no `pg_basebackup`. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { lines } from "@aegis/lib/jsonl.ts";
import { installations } from "./postgres.ts";
import { testFolder } from "./test-folder.ts";

const { bin, missing } = installations[15];
const nobody = 65_534;

/** The reason to skip what needs a standby, or null. */
export const noStandby = missing;

export type Pair = {
  /** The folder with the socket of the server that is the primary now, and of the other one. */
  readonly primary: string;
  readonly standby: string;
  /** A URL that names these servers in this order. */
  url(...dirs: string[]): string;
  /** Runs a statement on a server, and returns what it prints. */
  query(dir: string, statement: string): string;
  /** Ends the primary as a crash of its machine would. */
  killPrimary(): Promise<void>;
  /** Makes the standby the primary. Resolves when it can be written. */
  promote(): void;
  /** Makes the server that was killed a synchronous standby of the other one, from a new copy. */
  rebuild(): Promise<void>;
  /** The standby gets nothing any more, and commits do not wait for it. */
  detach(): Promise<void>;
  stop(): Promise<void>;
};

type Machine = { dir: string; data: string; child: ChildProcess | null };

export async function startPair(): Promise<Pair> {
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const run = (program: string, args: readonly string[], cwd: string): string => {
    const options = { ...user, cwd, env: { LANG: "C.UTF-8", PATH: "/usr/bin:/bin" }, encoding: "utf8" as const };
    const { status, stderr, stdout } = spawnSync(join(bin, program), args, options);
    if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
    return stdout.trim();
  };
  const machine = async (): Promise<Machine> => {
    const dir = await mkdtemp(join(testFolder(), "aegis-pg-"));
    if (user.uid !== undefined) await chown(dir, user.uid, user.gid);
    return { dir, data: join(dir, "data"), child: null };
  };
  const start = async (one: Machine, until: string): Promise<void> => {
    const args = ["-D", one.data, "-c", "listen_addresses=", "-k", one.dir, "-c", "max_wal_senders=5"];
    const env = { LANG: "C.UTF-8", PATH: "/usr/bin:/bin" };
    const child = spawn(join(bin, "postgres"), args, {
      ...user,
      cwd: one.dir,
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    one.child = child;
    const said: string[] = [];
    for await (const line of lines(child.stderr)) {
      said.push(line);
      if (!line.includes(until)) continue;
      child.stderr.resume();
      return;
    }
    throw new Error(`the server did not start: ${said.join("\n")}`);
  };
  const end = async (one: Machine, signal: "SIGKILL" | "SIGQUIT"): Promise<void> => {
    const { child } = one;
    one.child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  };
  const query = (dir: string, statement: string) =>
    run("psql", ["-h", dir, "-U", "postgres", "-At", "-c", statement], dir);
  const until = async (dir: string, statement: string) => {
    while (query(dir, statement) !== "t") await delay(50);
  };

  let [primary, standby] = [await machine(), await machine()];
  const attach = async (): Promise<void> => {
    const copy = ["-h", primary.dir, "-U", "postgres", "-D", standby.data, "-R", "-X", "stream", "-c", "fast"];
    run("pg_basebackup", copy, standby.dir);
    await start(standby, "started streaming");
    query(primary.dir, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    query(primary.dir, "SELECT pg_reload_conf()");
    await until(primary.dir, "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
  };
  run("initdb", ["-D", primary.data, "-U", "postgres", "-A", "trust", "--no-sync"], primary.dir);
  await start(primary, "ready to accept connections");
  await attach();
  return {
    get primary() {
      return primary.dir;
    },
    get standby() {
      return standby.dir;
    },
    url: (...dirs) => `postgres://postgres@${dirs.map(encodeURIComponent).join(",")}/postgres`,
    query,
    killPrimary: () => end(primary, "SIGKILL"),
    promote() {
      // Its copy of the settings is from before a standby was required: it does not wait for one.
      run("pg_ctl", ["promote", "-D", standby.data], standby.dir);
      [primary, standby] = [standby, primary];
    },
    async rebuild() {
      await rm(standby.data, { recursive: true, force: true, maxRetries: 5 });
      await attach();
    },
    async detach() {
      query(primary.dir, "ALTER SYSTEM RESET synchronous_standby_names");
      query(primary.dir, "SELECT pg_reload_conf()");
      query(standby.dir, "ALTER SYSTEM SET primary_conninfo = ''");
      query(standby.dir, "SELECT pg_reload_conf()");
      await until(primary.dir, "SELECT count(*) = 0 FROM pg_stat_replication");
    },
    async stop() {
      for (const one of [primary, standby]) {
        await end(one, "SIGQUIT");
        await rm(one.dir, { recursive: true, force: true, maxRetries: 5 });
      }
    },
  };
}
