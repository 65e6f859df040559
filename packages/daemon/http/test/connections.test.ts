import { once } from "node:events";
import type { Socket } from "node:net";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, onTestFinished, test } from "vitest";
import type { RunningServer } from "../src/server.ts";
import { errorOf, rawSocket, send, start, token } from "./start.ts";

/** What a client that never finishes may have said so far. */
const halves = {
  nothing: "",
  "half a line": "GET /v1/sta",
  "half of the headers": "GET /v1/status HTTP/1.1\r\nHost: x\r\n",
  "a head without its body": "POST /v1/sessions HTTP/1.1\r\nHost: HERE\r\nContent-Length: 10\r\n\r\n",
  "a head for the plane without its body": "POST /mcp HTTP/1.1\r\nHost: HERE\r\nContent-Length: 10\r\n\r\n",
  "public requests and do not read the answers": "GET /health HTTP/1.1\r\nHost: HERE\r\n\r\n".repeat(50),
};

test.each(Object.entries(halves))("strangers that sent %s do not block other clients", async (_, bytes) => {
  const { server } = await start({ limits: { strangers: 10, strangerMs: 0, connections: 30 } });
  server.mount("/mcp", refusing);
  const sockets = await openMany(server, 60, bytes);
  expect((await send(server, "GET", "/v1/status")).status).toBe(200);
  expect((await send(server, "POST", "/mcp", { body: "{}" })).status).toBe(401);
  await Promise.all(sockets.slice(0, 40).map(closed));
});

test("a burst of connections has time to show a token", async () => {
  const { server } = await start({ limits: { strangers: 5, connections: 100 } });
  const silent = await openMany(server, 40, "");
  const answers = await Promise.all(Array.from({ length: 40 }, () => send(server, "GET", "/v1/status")));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(silent.some((socket) => socket.destroyed)).toBe(false);
});

test("past the limit of all connections those without a token make room, however young they are", async () => {
  const { server } = await start({ limits: { strangers: 5, connections: 20 } });
  const silent = await openMany(server, 60, "POST /v1/sessions HTTP/1.1\r\nHost: HERE\r\nContent-Length: 10\r\n\r\n");
  expect((await send(server, "GET", "/v1/status")).status).toBe(200);
  await Promise.all(silent.slice(0, 30).map(closed));
});

test("clients with a token are not closed for strangers", async () => {
  const { server } = await start({ limits: { strangers: 5, strangerMs: 0 } });
  const proven = rawSocket(server);
  const request = `GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  proven.write(request);
  await once(proven, "data");
  const strangers = await openMany(server, 20, "");
  await Promise.all(strangers.slice(0, 15).map(closed));
  proven.write(request);
  const [answer] = (await once(proven, "data")) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
});

test("past the limit of all connections an idle one makes room", async () => {
  const { server } = await start({ limits: { connections: 8, strangers: 100, idleMs: 60_000 } });
  const idle = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const socket = rawSocket(server);
      socket.write(
        `GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      );
      await once(socket, "data");
      return socket;
    }),
  );
  for (let count = 0; count < 12; count++) expect((await send(server, "GET", "/v1/status")).status).toBe(200);
  expect(idle.some((socket) => !socket.destroyed)).toBe(true);
  const more = await openMany(server, 12, "GET /");
  expect((await send(server, "GET", "/v1/status")).status).toBe(200);
  await Promise.all(more.slice(0, 4).map(closed));
});

test.each(Object.entries(halves).slice(0, 5))("a connection that sent %s ends in time", async (_, bytes) => {
  const { server } = await start({ limits: { headersMs: 40, requestMs: 60, checkMs: 10, idleMs: 40 } });
  server.mount("/mcp", refusing);
  const [socket] = await openMany(server, 1, bytes);
  await closed(socket as Socket);
});

test("a connection that was used ends when no further request comes", { tags: "slow" }, async () => {
  const { server } = await start({ limits: { idleMs: 20 } });
  const [socket] = await openMany(server, 1, "GET /health HTTP/1.1\r\nHost: HERE\r\n\r\n");
  await closed(socket as Socket);
});

test("a client that does not read a finished answer is cut off", async () => {
  const { server } = await start({ limits: { stallMs: 30, bodyBytes: 10 } });
  server.mount("/mcp", () => new Response("x".repeat(50_000_000)));
  const socket = rawSocket(server);
  socket.pause();
  socket.write(`POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`);
  socket.on("error", () => {});
  // A socket that is not read learns of its end only when it writes.
  await waitUntil("the server has closed the connection", () => {
    socket.write("x");
    return socket.destroyed;
  });
});

test("answers that clients do not read hold a bounded amount of memory", { tags: "slow" }, async () => {
  const { server } = await start({ limits: { unreadBytes: 90_000_000 } });
  server.mount("/mcp", () => new Response("x".repeat(40_000_000)));
  const slow: Socket[] = [];
  for (let index = 0; index < 4; index++) {
    const [socket] = await openMany(server, 1, "POST /mcp HTTP/1.1\r\nHost: HERE\r\n\r\n");
    await once(socket as Socket, "readable");
    slow.push(socket as Socket);
  }
  await waitUntil("those that waited longest are closed", () => {
    for (const socket of slow.slice(0, 2)) socket.write("x");
    return slow.slice(0, 2).every((socket) => socket.destroyed);
  });
  const [newest] = slow.slice(-1);
  let bytes = 0;
  newest?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await waitUntil("the newest is read to its end", () => bytes > 40_000_000);
});

test("a mounted handler learns that its client has left", async () => {
  const { server } = await start();
  const left = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  server.mount("/mcp", async ({ signal }) => {
    signal.addEventListener("abort", () => left.resolve());
    reached.resolve();
    await left.promise;
    return new Response("too late");
  });
  const [socket] = await openMany(server, 1, "POST /mcp HTTP/1.1\r\nHost: HERE\r\n\r\n");
  await reached.promise;
  socket?.destroy();
  await left.promise;
});

test("the answer of a mounted handler arrives byte by byte as it was given", async () => {
  const { server } = await start();
  const bytes = Buffer.from([0xff, 0x00, 0xfe, 0x41]);
  server.mount("/mcp", () => new Response(bytes));
  const answer = await fetch(`${server.url}/mcp`);
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes);
});

test("event streams are bounded, and the next one is told so", async () => {
  const { server } = await start({ limits: { streams: 2 } });
  const stream = `GET /v1/events/stream HTTP/1.1\r\nHost: HERE\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const streams = await openMany(server, 2, stream);
  await Promise.all(streams.map((socket) => once(socket, "data")));
  const refused = await send(server, "GET", "/v1/events/stream");
  expect([refused.status, errorOf(refused).code]).toEqual([429, "too_many"]);
  expect((await send(server, "GET", "/v1/status")).status).toBe(200);
  streams[0]?.destroy();
  await waitUntil("the stream that ended makes room", async () => {
    const [socket] = await openMany(server, 1, stream);
    const [head] = (await once(socket as Socket, "data")) as [Buffer];
    return head.toString().startsWith("HTTP/1.1 200 ");
  });
});

function refusing(): Response {
  return new Response("who are you?", { status: 401 });
}

async function openMany(server: RunningServer, count: number, bytes: string): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let index = 0; index < count; index++) {
    const socket = rawSocket(server);
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    await once(socket, "connect");
    if (bytes !== "") socket.write(bytes.replaceAll("HERE", `127.0.0.1:${server.port}`));
    sockets.push(socket);
  }
  return sockets;
}

async function closed(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await once(socket, "close");
}
