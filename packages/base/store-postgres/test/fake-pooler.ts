/**
 * A connection pooler in transaction mode, as PgBouncer is: clients share the connections to the server, which keep what
 * was set on them. A client has one from its first statement to the end of the transaction. Notifications that arrive
 * while no client has the connection are dropped.
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const socketName = ".s.PGSQL.5432";
const sslRequest = 80_877_103;

type Shared = { socket: Socket; client: Socket | null; unanswered: number; greeting: Buffer };

export async function startFakePooler(serverUrl: string) {
  const { hostname, pathname } = new URL(serverUrl);
  const target = join(decodeURIComponent(hostname), socketName);
  const dir = await mkdtemp(join(tmpdir(), "aegis-pooler-"));
  const all = new Set<Socket>();
  const idle: Shared[] = [];

  const open = async (startup: Buffer): Promise<Shared> => {
    const socket = createConnection(target);
    all.add(socket);
    socket.on("error", () => {});
    const shared: Shared = { socket, client: null, unanswered: 0, greeting: Buffer.alloc(0) };
    const ready = Promise.withResolvers<void>();
    socket.on(
      "data",
      reading((type, message) => {
        if (shared.greeting.at(-1) !== 0x49) {
          // Until the server is ready, everything is its greeting; the last byte says that it is idle.
          shared.greeting = Buffer.concat([shared.greeting, message]);
          if (type === "Z") ready.resolve();
          return;
        }
        shared.client?.write(message);
        if (type !== "Z") return;
        shared.unanswered -= 1;
        const isIdle = message.at(-1) === 0x49;
        if (!isIdle || shared.unanswered > 0) return;
        shared.client = null;
        idle.push(shared);
      }),
    );
    socket.write(startup);
    await ready.promise;
    return shared;
  };

  const serve = (client: Socket) => {
    all.add(client);
    client.on("error", () => {});
    let startup: Buffer | null = null;
    let linked: Shared | null = null;
    let queue = Promise.resolve();
    const handle = async (type: string, message: Buffer) => {
      if (startup === null) return;
      if (type === "X") return void client.end();
      if (linked === null || linked.client !== client) linked = idle.pop() ?? (await open(startup));
      linked.client = client;
      // Each of these is answered with one message that the server is ready.
      if (type === "Q" || type === "S") linked.unanswered += 1;
      linked.socket.write(message);
    };
    const statements = reading((type, message) => {
      queue = queue.then(() => handle(type, message));
    });
    client.on("data", (chunk: Buffer) => {
      if (startup !== null) return statements(chunk);
      if (chunk.readUInt32BE(4) === sslRequest) return void client.write("N");
      startup = chunk;
      queue = queue.then(async () => {
        const shared = idle.pop() ?? (await open(chunk));
        client.write(shared.greeting);
        idle.push(shared);
      });
    });
  };

  const server = createServer(serve);
  server.listen(join(dir, socketName));
  await once(server, "listening");
  return {
    url: `postgres://postgres@${encodeURIComponent(dir)}${pathname}`,
    async close(): Promise<void> {
      for (const socket of all) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Splits a stream into messages: a type, a length that counts itself, and a body. */
function reading(handle: (type: string, message: Buffer) => void): (chunk: Buffer) => void {
  let waiting = Buffer.alloc(0);
  return (chunk) => {
    waiting = Buffer.concat([waiting, chunk]);
    while (waiting.length >= 5 && waiting.length >= 1 + waiting.readUInt32BE(1)) {
      const end = 1 + waiting.readUInt32BE(1);
      const message = waiting.subarray(0, end);
      waiting = waiting.subarray(end);
      handle(String.fromCharCode(message[0] ?? 0), message);
    }
  };
}
