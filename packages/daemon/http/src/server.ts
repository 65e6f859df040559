/** The daemon's HTTP server: binds, guards, dispatches, closes. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { AegisError } from "@aegis/contract/errors.ts";
import { type Clock, systemClock } from "@aegis/lib/clock.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { http } from "@aegis/lib/node-http.ts";
import { createApp, type Services } from "./app.ts";
import { Connections } from "./connections.ts";
import { EventStreams } from "./event-stream.ts";
import { createGuard, hostInUrl, isLoopback, isWebPath, isWildcard, requestPath, targetOf } from "./guard.ts";
import { defaultLimits, type ServerLimits } from "./limits.ts";
import { type MountedHandler, serveMounted } from "./mount.ts";
import {
  errorResponse,
  noUpgrade,
  refuseSocket,
  securityHeaders,
  sendError,
  toAegisError,
  unreadable,
} from "./refusals.ts";
import { createBrowserRequests } from "./web/browser-requests.ts";

export type ServerOptions = {
  services: Services;
  token: string;
  bind: string;
  /** 0 takes any free one. */
  port: number;
  /** With port 0: the port to take if it is free. */
  preferredPort?: number | null;
  /** Names besides the loopback ones under which clients may ask. */
  allowedHosts?: readonly string[];
  /** Without it, only loopback addresses are bound. */
  allowRemote?: boolean;
  version: string;
  log: Logger;
  clock?: Clock;
  limits?: Partial<ServerLimits>;
};

export type RunningServer = {
  readonly url: string;
  readonly port: number;
  /** Serves one exact path. The handler authenticates its callers; Host, Origin and size are checked before it. */
  mount(path: string, handler: MountedHandler): () => void;
  /** Ends streams immediately, lets running requests finish, and resolves when no connection is left. */
  close(): Promise<void>;
};

export async function createServer(options: ServerOptions): Promise<RunningServer> {
  const { services, token, bind, version, log, clock = systemClock } = options;
  requireSafeBind(options);
  const limits = { ...defaultLimits, ...options.limits };
  const streams = new EventStreams({
    clock,
    log,
    heartbeatMs: limits.heartbeatMs,
    stallMs: limits.stallMs,
    streams: limits.streams,
  });
  const mounts = new Map<string, MountedHandler>();
  const server = httpServer(limits);
  const connections = new Connections(server, limits);
  const port = await listenOn(server, options);
  const web = createBrowserRequests({
    access: services.web,
    port,
    serveFile: async (...request) => (await import("./web/files.ts")).serveFile(...request),
  });
  const { allowedHosts = [] } = options;
  const clientOf = (given: string) => services.clients.nameOf(given);
  const guard = createGuard({ token, bind, port, allowedHosts, clientOf, browsers: web });
  const app = createApp({ services, streams, version, log, maxBodyBytes: limits.bodyBytes });
  let closing: Promise<void> | null = null;

  const answer = (incoming: IncomingMessage, outgoing: ServerResponse, path: string) => {
    const access = guard.access(incoming);
    if (access instanceof AegisError) return sendError(outgoing, access);
    incoming.url = targetOf(incoming.url).path;
    if (isWebPath(path)) return void web.serve(incoming, outgoing);
    const { caller, isProven } = access;
    if (isProven) connections.prove(incoming.socket);
    if (caller.kind === "owner" && caller.browser) web.accepted(incoming, outgoing);
    void app(incoming, outgoing, caller);
  };

  const answerMounted = (incoming: IncomingMessage, outgoing: ServerResponse, path: string, to: MountedHandler) => {
    const refusal = guard.refusal(incoming);
    if (refusal !== null) return sendError(outgoing, refusal);
    incoming.url = targetOf(incoming.url).path;
    const refuse = (error: unknown) => errorResponse(toAegisError(error, log, { method: incoming.method, path }));
    const prove = () => connections.prove(incoming.socket);
    const { bodyBytes: maxBodyBytes, stallMs } = limits;
    void serveMounted(incoming, outgoing, to, { maxBodyBytes, stallMs, clock, refuse, prove });
  };

  server.on("request", (incoming, outgoing) => {
    for (const [name, value] of Object.entries(securityHeaders)) outgoing.setHeader(name, value);
    const path = requestPath(incoming);
    const mounted = mounts.get(path);
    if (mounted === undefined) answer(incoming, outgoing, path);
    else answerMounted(incoming, outgoing, path, mounted);
  });
  server.on("upgrade", (incoming: IncomingMessage, socket: Socket) => {
    const access = guard.access(incoming);
    refuseSocket(socket, access instanceof AegisError ? access : noUpgrade());
  });

  return {
    url: `http://${hostInUrl(isWildcard(bind) ? "127.0.0.1" : bind)}:${port}`,
    port,
    mount(path, handler) {
      if (mounts.has(path)) throw new AegisError("conflict", `${path} is served already`);
      mounts.set(path, handler);
      return () => mounts.delete(path);
    },
    close() {
      streams.endAll();
      closing ??= connections.close(clock, limits.closeGraceMs);
      return closing;
    },
  };
}

function requireSafeBind({ bind, token, allowRemote }: ServerOptions): void {
  if (token === "") throw new AegisError("invalid", "the server needs a token");
  if (isLoopback(bind) || allowRemote === true) return;
  throw new AegisError("forbidden", `${bind} can be reached from other machines, and remote access is not allowed`, {
    hint: "bind 127.0.0.1 and use a tunnel, or allow it with --allow-remote",
  });
}

function httpServer(limits: ServerLimits): Server {
  const server = http.createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
    keepAliveTimeout: limits.idleMs,
    // A peer that vanished without a word is noticed by the system.
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    // Some HTTP/1.1 clients offer h2c with every request; an offer may be passed over.
    shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() !== "h2c",
  });
  server.maxConnections = limits.connections;
  server.on("clientError", (cause, socket) => {
    // What was already written on this connection must not be mistaken for the start of an answer.
    if (!socket.writable || (socket as Socket).bytesWritten > 0) return socket.destroy();
    const { error, status } = unreadable(cause);
    refuseSocket(socket, error, status);
  });
  return server;
}

/** A preferred port is only a preference: another program may have taken it. */
async function listenOn(server: Server, { bind, port, preferredPort }: ServerOptions): Promise<number> {
  if (port !== 0 || typeof preferredPort !== "number") return await listen(server, bind, port);
  return await listen(server, bind, preferredPort).catch(() => listen(server, bind, 0));
}

async function listen(server: Server, bind: string, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ host: bind, port }, resolve);
  try {
    await promise;
  } catch (error) {
    throw new AegisError(
      isErrno(error, "EADDRINUSE") ? "conflict" : "unavailable",
      isErrno(error, "EADDRINUSE")
        ? `port ${port} of ${bind} is taken by another program`
        : `cannot listen on ${bind}:${port}: ${errorText(error)}`,
      { hint: "choose another server.bind or server.port; port 0 selects a free one", cause: error },
    );
  } finally {
    server.off("error", reject);
  }
  return (server.address() as AddressInfo).port;
}
