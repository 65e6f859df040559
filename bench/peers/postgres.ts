/** A PostgreSQL of the benchmark's own, on loopback, with the durability it has by default. */
import { execFile } from "node:child_process";
import { access, chown, mkdir, readdir } from "node:fs/promises";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

export type Postgres = {
  /** The address of a database. */
  url: string;
  /** What the database has on disk, without the server's log of writes. */
  bytes(): Promise<number>;
};

const run = promisify(execFile);
/** Where Debian keeps the programs of each version, which it leaves out of PATH. */
const versions = "/usr/lib/postgresql";
const without = "or leave DBOS out: --peer aegis --peer langgraph --peer mastra";

/** Starts it below `dir`; the scope stops it. */
export async function startPostgres(dir: string, scope: AsyncDisposableStack): Promise<Postgres> {
  const bin = await programs();
  const data = join(dir, "postgres");
  await mkdir(data, { recursive: true });
  const account = await ordinaryAccount();
  if (account) {
    await chown(dir, account.uid, account.gid);
    await chown(data, account.uid, account.gid);
  }
  const port = await freePort();
  const options = { ...account, env: { PATH: process.env.PATH, LC_ALL: "C" }, cwd: data };
  await run(join(bin, "initdb"), ["-D", data, "-U", "bench", "--auth=trust", "--no-instructions"], options);
  const server = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${data}`;
  await run(join(bin, "pg_ctl"), ["-D", data, "-l", join(data, "log"), "-o", server, "-w", "start"], options);
  scope.defer(async () => {
    await run(join(bin, "pg_ctl"), ["-D", data, "-m", "immediate", "-w", "stop"], options);
  });
  await run(join(bin, "createdb"), ["-h", "127.0.0.1", "-p", `${port}`, "-U", "bench", "bench"], options);
  const url = `postgresql://bench@127.0.0.1:${port}/bench`;
  return {
    url,
    async bytes() {
      const query = "SELECT pg_database_size('bench')";
      return Number((await run(join(bin, "psql"), ["-At", "-c", query, url], options)).stdout);
    },
  };
}

async function programs(): Promise<string> {
  const installed = await readdir(versions).catch(() => []);
  const newestFirst = installed.toSorted((a, b) => Number(b) - Number(a)).map((name) => join(versions, name, "bin"));
  for (const folder of [...newestFirst, ...(process.env.PATH ?? "").split(delimiter)]) {
    const found = await access(join(folder, "initdb")).then(
      () => true,
      () => false,
    );
    if (found) return folder;
  }
  throw new Error(`initdb is neither in PATH nor below ${versions}: install PostgreSQL for DBOS, ${without}`);
}

/** PostgreSQL refuses to run as root; its packages make an account for it. */
async function ordinaryAccount(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const numbers = ["-u", "-g"].map(async (flag) => Number((await run("id", [flag, "postgres"])).stdout));
  const [uid, gid] = await Promise.all(numbers).catch(() => []);
  if (uid === undefined || gid === undefined) {
    throw new Error(`PostgreSQL does not run as root, and no account "postgres" is there: use another one, ${without}`);
  }
  return { uid, gid };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
