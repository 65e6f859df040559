/** The daemon's HTTP server: binds, guards, dispatches, closes. */
import { createServer as createHttpServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener, type HttpBindings, RequestError } from "@hono/node-server";
import { AegisError } from "../contract/errors.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { isErrno } from "../lib/files.ts";
import { errorText, type Logger } from "../lib/log.ts";
import { createApp } from "./app.ts";
import { Connections } from "./connections.ts";
import { EventStreams } from "./event-stream.ts";
import { createGuard, hostInUrl, isLoopback, isWildcard, requestPath } from "./guard.ts";
import { defaultLimits, type ServerLimits } from "./limits.ts";
import { type MountedHandler, serveMounted } from "./mount.ts";
import { noUpgrade, refuseSocket, unreadable } from "./raw-refusal.ts";
import { errorResponse, securityHeaders, toAegisError } from "./refusals.ts";
import type { Services } from "./services.ts";

export type ServerOptions = {
  services: Services;
  token: string;
  bind: string;
  /** 0 takes any free one. */
  port: number;
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
  /** Ends streams at once, lets requests under way finish, and resolves when no connection is left. */
  close(): Promise<void>;
};

export async function createServer(options: ServerOptions): Promise<RunningServer> {
  const { services, token, bind, version, log, clock = systemClock } = options;
  requireSafeBind(options);
  const limits = { ...defaultLimits, ...options.limits };
  const streams = new EventStreams({ clock, log, ...limits });
  const app = createApp({ services, streams, version, log, maxBodyBytes: limits.bodyBytes });
  const mounts = new Map<string, MountedHandler>();
  const server = httpServer(limits);
  const connections = new Connections(server);
  const port = await listen(server, bind, options.port);
  const guard = createGuard({ token, bind, port, allowedHosts: options.allowedHosts ?? [] });
  let closing: Promise<void> | null = null;

  async function answer(request: Request, env: HttpBindings): Promise<Response> {
    const refusal = guard.refusal(env.incoming, { authenticates: false });
    return refusal === null ? app.fetch(request, env) : errorResponse(refusal);
  }

  const listener = getRequestListener((request, env) => answer(request, env as HttpBindings), {
    overrideGlobalObjects: false,
    errorHandler: (error) => errorResponse(requestError(error, log)),
  });
  server.on("request", (incoming, outgoing) => {
    for (const [name, value] of Object.entries(securityHeaders)) outgoing.setHeader(name, value);
    const path = requestPath(incoming);
    const mounted = mounts.get(path);
    // Whoever is refused here is refused there too, with the reason.
    if (mounted === undefined || guard.refusal(incoming, { authenticates: true }) !== null)
      return void listener(incoming, outgoing);
    const refuse = (error: unknown) => errorResponse(toAegisError(error, log, { method: incoming.method, path }));
    void serveMounted(incoming, outgoing, mounted, { maxBodyBytes: limits.bodyBytes, refuse });
  });
  server.on("upgrade", (incoming: IncomingMessage, socket: Socket) => {
    refuseSocket(socket, guard.refusal(incoming, { authenticates: false }) ?? noUpgrade());
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
  const server = createHttpServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
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
      { hint: "choose another server.bind or server.port; port 0 takes any free one", cause: error },
    );
  } finally {
    server.off("error", reject);
  }
  return (server.address() as AddressInfo).port;
}

function requestError(error: unknown, log: Logger): AegisError {
  if (error instanceof RequestError) return new AegisError("invalid", `the request is not valid: ${error.message}`);
  return toAegisError(error, log, {});
}
