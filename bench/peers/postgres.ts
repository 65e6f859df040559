/** A PostgreSQL of the benchmark's own, on loopback, with the durability it has by default. */
import { execFile } from "node:child_process";
import { access, chown, mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const folders = ["/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin", "/usr/bin"];

/** Starts it below `dir` and gives the address of a database; the scope stops it. */
export async function startPostgres(dir: string, scope: AsyncDisposableStack): Promise<string> {
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
  return `postgresql://bench@127.0.0.1:${port}/bench`;
}

async function programs(): Promise<string> {
  for (const folder of folders) {
    const found = await access(join(folder, "initdb")).then(
      () => true,
      () => false,
    );
    if (found) return folder;
  }
  throw new Error("PostgreSQL is not installed: initdb is in none of its usual folders");
}

/** PostgreSQL refuses to run as root. */
async function ordinaryAccount(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (flag) => Number((await run("id", [flag, "postgres"])).stdout)),
  );
  return { uid: uid ?? 0, gid: gid ?? 0 };
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
