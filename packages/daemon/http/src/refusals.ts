/** Errors as responses: typed ones unchanged, anything else as an id that the log explains. */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { routes } from "@aegis/contract/routes.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { nearest } from "@aegis/lib/nearest.ts";
import { http } from "@aegis/lib/node-http.ts";

export const securityHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
};

export function errorResponse(error: AegisError, headers: Record<string, string> = {}): Response {
  return Response.json(error.toBody(), { status: error.status, headers: { ...headersFor(error), ...headers } });
}

/** Writes to Node's response: a web response costs more than most handlers. */
export function sendError(response: ServerResponse, error: AegisError): void {
  const body = JSON.stringify(error.toBody());
  const headers = { ...headersFor(error), "content-type": "application/json" };
  response.writeHead(error.status, { ...headers, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

/** What the client may know of an unknown error is its id in the log. */
export function toAegisError(error: unknown, log: Logger, where: Record<string, unknown>): AegisError {
  if (isAegisError(error)) return error;
  const id = randomUUID();
  log.error("request failed", { id, ...where, error: error instanceof Error ? (error.stack ?? error.message) : error });
  return new AegisError("internal", "the daemon could not answer because of an internal error", {
    hint: `look for ${id} in the daemon's log`,
    details: { id },
  });
}

export function headersFor(error: AegisError): Record<string, string> {
  if (error.code === "unauthorized") return { "www-authenticate": 'Bearer realm="aegis"' };
  // The rest of the body is not read, so the connection cannot carry another request.
  if (error.code === "too_large") return { connection: "close" };
  return {};
}

export function unknownRoute(method: string, path: string): AegisError {
  const given = path.split("/");
  const likely = new Map<string, string>();
  for (const route of Object.values(routes)) {
    // A parameter may be anything: only the fixed words can be mistyped.
    const words = route.path.split("/").map((word, i) => (word.startsWith(":") ? (given[i] ?? word) : word));
    likely.set(words.join("/"), route.path);
  }
  const near = nearest(path, likely.keys());
  const hint = near === null ? "GET /openapi.json lists every route" : `did you mean ${likely.get(near)}?`;
  return new AegisError("not_found", `there is no route ${method} ${path}`, { hint });
}

export function wrongMethod(method: string, path: string, allowed: readonly string[]): AegisError {
  return new AegisError("method_not_allowed", `${path} does not accept ${method}`, {
    hint: `it accepts ${allowed.join(", ")}`,
  });
}

/** Writes the error and closes. */
export function refuseSocket(socket: Duplex, error: AegisError, status = error.status): void {
  const body = JSON.stringify(error.toBody());
  const headers = {
    ...securityHeaders,
    ...headersFor(error),
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.on("error", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${head.join("")}\r\n${body}`, () => socket.destroy());
}

export function noUpgrade(): AegisError {
  return new AegisError("not_found", "no protocol upgrade is served here", {
    hint: "events are streamed by GET /v1/events/stream",
  });
}

/** A request that Node gave up on, as an error and its status. */
export function unreadable(error: Error & { code?: string }): { error: AegisError; status: number } {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return { error: new AegisError("too_large", "the request's headers are too large"), status: 431 };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { error: new AegisError("timeout", "the request did not arrive in time"), status: 408 };
    default:
      return { error: new AegisError("invalid", "the request is not valid HTTP"), status: 400 };
  }
}
