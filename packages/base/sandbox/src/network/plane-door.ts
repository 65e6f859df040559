/**
 * The daemon's endpoint for one session, as a sandbox sees it: the same address, and nothing else of the daemon's API.
 * Requests with another session's token are refused.
 */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { http } from "@aegis/lib/node-http.ts";
import type { Door } from "./network.ts";

export function createPlaneDoor({ url, token }: { url: string; token: string }): Door {
  const target = new URL(url);
  const server = http.createServer((request, response) => {
    const path = URL.parse(request.url ?? "", url)?.pathname;
    if (path !== target.pathname) refuse(response, 404, "a confined program reaches only the endpoint of its session");
    else if (!isSame(request.headers.authorization ?? "", `Bearer ${token}`)) refuse(response, 401, "another token");
    else pass(request, response, target);
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  return {
    serve: (socket) => void server.emit("connection", socket),
    close: () => void server.closeAllConnections(),
  };
}

function pass(request: IncomingMessage, response: ServerResponse, target: URL): void {
  const { hostname, port } = target;
  const out = http.request({
    host: hostname,
    port,
    method: request.method,
    path: request.url,
    headers: request.headers,
  });
  response.once("close", () => out.destroy());
  out.on("error", () => response.destroy());
  out.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
  });
  request.pipe(out);
}

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(`aegis sandbox: ${text}\n`);
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}
