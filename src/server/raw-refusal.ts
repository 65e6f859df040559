/** Answers on a bare socket, where no response object exists: upgrades and requests that cannot be parsed. */
import type { Duplex } from "node:stream";
import { AegisError } from "../contract/errors.ts";
import { http } from "../lib/node-http.ts";
import { headersFor, securityHeaders } from "./refusals.ts";

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
