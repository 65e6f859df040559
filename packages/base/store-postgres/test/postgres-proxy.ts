/** A proxy before a PostgreSQL server that loses commits or the answers to them, as a network does. */
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `request` cuts the connection before the server gets COMMIT, `answer` before the client gets its answer. */
export type Loss = "request" | "answer";

export type Proxy = {
  readonly url: string;
  /** Cuts the connection at the next commit. */
  loseNext(loss: Loss): void;
  /** Cuts the connection on which the server would get this text next. */
  cutAt(text: string): void;
  readonly lost: number;
  close(): Promise<void>;
};

const commit = Buffer.from("COMMIT\0");
/** The name that clients expect in the folder that they are given. */
const socketName = ".s.PGSQL.5432";

export async function startProxy(serverUrl: string): Promise<Proxy> {
  const { hostname, pathname } = new URL(serverUrl);
  const target = join(decodeURIComponent(hostname), socketName);
  const dir = await mkdtemp(join(tmpdir(), "aegis-proxy-"));
  const sockets = new Set<Socket>();
  let next: Loss | null = null;
  let cutting: string | null = null;
  let lost = 0;
  const server = createServer((client) => {
    const upstream = createConnection(target);
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", cut);
      socket.on("close", () => {
        sockets.delete(socket);
        cut();
      });
    }
    let losesAnswer = false;
    client.on("data", (chunk) => {
      if (cutting !== null && chunk.includes(cutting)) {
        cutting = null;
        lost += 1;
        cut();
        return;
      }
      if (next !== null && chunk.includes(commit)) {
        const loss = next;
        next = null;
        lost += 1;
        if (loss === "request") {
          cut();
          return;
        }
        losesAnswer = true;
      }
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (losesAnswer && chunk.includes(commit)) cut();
      else client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(join(dir, socketName), resolve));
  return {
    url: `postgres://postgres@${encodeURIComponent(dir)}${pathname}`,
    loseNext(loss) {
      next = loss;
    },
    cutAt(text) {
      cutting = text;
    },
    get lost() {
      return lost;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(dir, { recursive: true, force: true });
    },
  };
}
