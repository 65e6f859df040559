/** A real PgBouncer before a server of a test, where it is installed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lines } from "@aegis/lib/jsonl.ts";
import { takePort } from "./take-port.ts";

const program = "/usr/sbin/pgbouncer";
const nobody = 65_534;

/** The reason to skip tests on it, or null. */
export const noPgBouncer = existsSync(program) ? null : `${program} is not installed`;

export type PoolMode = "session" | "transaction" | "statement";

/** `settings` are further lines of its configuration. */
export async function startPgBouncer(serverUrl: string, mode: PoolMode, settings: readonly string[] = []) {
  const dir = await mkdtemp(join(tmpdir(), "aegis-pgbouncer-"));
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  if (user.uid !== undefined) await chown(dir, user.uid, user.gid);
  const port = await freePort();
  const users = join(dir, "users.txt");
  const file = join(dir, "pgbouncer.ini");
  await writeFile(users, '"postgres" ""\n');
  const config = [
    ...["[databases]", `* = host=${decodeURIComponent(new URL(serverUrl).hostname)}`, "[pgbouncer]"],
    ...["listen_addr = 127.0.0.1", `listen_port = ${port}`, "unix_socket_dir =", "auth_type = trust"],
    ...[`auth_file = ${users}`, `pool_mode = ${mode}`, "server_login_retry = 1", ...settings, ""],
  ];
  await writeFile(file, config.join("\n"));
  const child = spawn(program, [file], { ...user, cwd: dir, stdio: ["ignore", "ignore", "pipe"] });
  const exited = once(child, "exit");
  const said: string[] = [];
  for await (const line of lines(child.stderr)) {
    said.push(line);
    if (line.includes("process up")) break;
  }
  if (!said.at(-1)?.includes("process up")) throw new Error(`PgBouncer did not start: ${said.join("\n")}`);
  child.stderr.resume();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async stop(): Promise<void> {
      child.kill("SIGKILL");
      await exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  await using taken = await takePort();
  return taken.port;
}
