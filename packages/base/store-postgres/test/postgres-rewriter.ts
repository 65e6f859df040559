/** A proxy before a PostgreSQL server that changes what the server says about itself. */
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Changes = {
  /** What `current_setting('server_version')` answers. */
  server_version?: string;
  /** As a pooler does that shares connections by transaction. */
  dropNotifications?: boolean;
};

const socketName = ".s.PGSQL.5432";

export async function startRewriter(serverUrl: string, changes: Changes) {
  const { hostname, pathname } = new URL(serverUrl);
  const target = join(decodeURIComponent(hostname), socketName);
  const dir = await mkdtemp(join(tmpdir(), "aegis-rewriter-"));
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(target);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
    }
    client.on("data", (chunk) => upstream.write(chunk));
    let waiting = Buffer.alloc(0);
    upstream.on("data", (chunk) => {
      waiting = Buffer.concat([waiting, chunk]);
      // Each message is a type, a length that counts itself, and a body. None is longer than what the tests ask for.
      while (waiting.length >= 5 && waiting.length >= 1 + waiting.readUInt32BE(1)) {
        const end = 1 + waiting.readUInt32BE(1);
        const message = changed(waiting.subarray(0, end), changes);
        waiting = waiting.subarray(end);
        if (message !== null) client.write(message);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(join(dir, socketName), resolve));
  return {
    url: `postgres://postgres@${encodeURIComponent(dir)}${pathname}`,
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function changed(message: Buffer, { server_version, dropNotifications }: Changes): Buffer | null {
  const type = String.fromCharCode(message[0] ?? 0);
  if (dropNotifications === true && type === "A") return null;
  if (server_version === undefined || type !== "D" || message.readUInt16BE(5) < 5) return message;
  // A row of several columns: the first one of the query about the server is its version.
  const length = message.readInt32BE(7);
  if (!/^\d+(\.\d+)?( \(.*\))?$/.test(message.toString("latin1", 11, 11 + length))) return message;
  const text = Buffer.from(server_version);
  const rest = message.subarray(11 + length);
  const row = Buffer.concat([message.subarray(0, 7), Buffer.alloc(4), text, rest]);
  row.writeUInt32BE(row.length - 1, 1);
  row.writeInt32BE(text.length, 7);
  return row;
}
