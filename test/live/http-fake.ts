/** A loopback HTTP server for one test file. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export type Fake = { url: string; close(): Promise<void> };

export type Handler = (request: IncomingMessage, body: string, response: ServerResponse) => void | Promise<void>;

export async function startFake(handler: Handler): Promise<Fake> {
  const server = createServer(async (request, response) => {
    const body = (await Array.fromAsync(request)).map(String).join("");
    await handler(request, body, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the fake has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

/** Opens a stream of server-sent events. */
export function eventStream(response: ServerResponse): (type: string, data: Record<string, unknown>) => void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  return (type, data) => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  };
}
