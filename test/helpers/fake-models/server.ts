/** A model API on loopback that answers from a script. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { ReadRequest, Reply, Wire } from "./wire.ts";

export type FakeRequest = ReadRequest & { headers: IncomingMessage["headers"]; body: Record<string, unknown> };

/** A list is used up reply by reply; a function answers every request. */
export type FakeScript = readonly Reply[] | ((request: FakeRequest) => Reply);

export type FakeModels = {
  url: string;
  readonly requests: readonly FakeRequest[];
  /** Resolves when so many requests have come. */
  arrived(count: number): Promise<void>;
  /** Resolves when the client has gone away from a reply that hangs. */
  readonly abandoned: Promise<void>;
};

export async function fakeModels(wire: Wire, script: FakeScript): Promise<FakeModels> {
  const requests: FakeRequest[] = [];
  const queue = typeof script === "function" ? null : [...script];
  const abandoned = Promise.withResolvers<void>();
  let waiting: { count: number; resolve: () => void }[] = [];

  const server = createServer(async (incoming, response) => {
    const request = await receive(wire, incoming);
    requests.push(request);
    for (const waiter of waiting) if (requests.length >= waiter.count) waiter.resolve();
    waiting = waiting.filter((waiter) => requests.length < waiter.count);
    const reply = typeof script === "function" ? script(request) : queue?.shift();
    if (reply === undefined) return refuse(wire, response, { status: 400, message: "the script is at its end" });
    await answer(wire, response, reply, () => abandoned.resolve());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    abandoned: abandoned.promise,
    arrived: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
  };
}

async function receive(wire: Wire, incoming: IncomingMessage): Promise<FakeRequest> {
  const chunks = await Array.fromAsync(incoming as AsyncIterable<Buffer>);
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
  return { ...wire.read(body), headers: incoming.headers, body };
}

async function answer(wire: Wire, response: ServerResponse, reply: Reply, onLeft: () => void): Promise<void> {
  response.on("close", () => {
    if (reply.hang !== undefined) onLeft();
  });
  if (reply.cut === "at once") return void response.destroy();
  if (reply.hang === "at once") return;
  if (reply.status !== undefined) return refuse(wire, response, reply);
  const { opening, text, rest } = wire.events(reply);
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (reply.garbage === true) response.write(": a comment\n\nnonsense\n\n");
  await write(response, [...opening, ...text]);
  if (reply.hang === "after text") return;
  if (reply.streamError !== undefined) {
    const event = { type: "error", error: reply.streamError };
    return void response.end(`event: error\ndata: ${JSON.stringify(event)}\n\n`);
  }
  if (reply.cut !== undefined) {
    if (reply.cut === "mid JSON") await write(response, [(rest[0] ?? "").slice(0, 30)]);
    return void response.destroy();
  }
  await write(response, rest);
  response.end();
}

/** One write after the other, so that each event is a chunk of its own. */
async function write(response: ServerResponse, chunks: readonly string[]): Promise<void> {
  for (const chunk of chunks) await new Promise((resolve) => response.write(chunk, resolve));
}

function refuse(wire: Wire, response: ServerResponse, reply: Reply): void {
  const status = reply.status ?? 500;
  response.writeHead(status, { "content-type": "application/json", ...reply.headers });
  response.end(JSON.stringify(wire.refusal(status, reply.message ?? `status ${status}`)));
}
