/**
 * Who may talk to the daemon. The token says who; Host and Origin keep web pages out, which can reach loopback through
 * a name of their own. One check for plain requests, streams and upgrades.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { AegisError } from "../contract/errors.ts";
import { publicRoutes, routes } from "../contract/routes.ts";

export type Guard = {
  /** Why the request is refused, or null. A mounted handler authenticates its callers itself. */
  refusal(request: IncomingMessage, options: { authenticates: boolean }): AegisError | null;
};

export type GuardOptions = {
  token: string;
  bind: string;
  port: number;
  /** Names besides the loopback ones, with a port or for any. */
  allowedHosts: readonly string[];
};

export function createGuard(options: GuardOptions): Guard {
  const { hosts, origins } = ownNames(options);
  const tokenDigest = digest(options.token);

  return {
    refusal(request, { authenticates }) {
      const { host, origin, authorization } = request.headers;
      if (host === undefined || !hosts.has(host.toLowerCase())) return foreignHost(host);
      if (origin !== undefined && !origins.has(origin.toLowerCase())) return foreignOrigin(origin);
      if (tokenInUrl(request)) return unauthorized("a token in a URL is not accepted: URLs end up in logs");
      if (authenticates || isPublic(request)) return null;
      if (authorization === undefined) return unauthorized("the request carries no token");
      const given = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
      // Equal lengths and constant time: neither tells anything about the token.
      if (given === undefined || !timingSafeEqual(digest(given), tokenDigest))
        return unauthorized("the token is wrong");
      return null;
    },
  };
}

/** The path as sent, so that no decoding can make two paths out of one. */
export function requestPath(request: IncomingMessage): string {
  const target = request.url ?? "/";
  const query = target.indexOf("?");
  return query === -1 ? target : target.slice(0, query);
}

export function isLoopback(address: string): boolean {
  return address === "localhost" || address === "::1" || /^127(\.\d{1,3}){3}$/.test(address);
}

/** An address that stands for all of the machine's. As a name it is refused: pages can use it to reach loopback. */
export function isWildcard(address: string): boolean {
  return address === "0.0.0.0" || address === "::";
}

export function hostInUrl(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

/** Names are compared with configured ones only: what a request says about itself proves nothing. */
function ownNames({ bind, port, allowedHosts }: GuardOptions): { hosts: Set<string>; origins: Set<string> } {
  const local = ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);
  if (!isWildcard(bind)) local.push(`${hostInUrl(bind)}:${port}`);
  const configured = allowedHosts.flatMap((entry) => {
    const name = entry.toLowerCase();
    return /:\d+$/.test(name) ? [name] : [name, `${name}:${port}`];
  });
  const hosts = [...local, ...configured];
  return {
    hosts: new Set(hosts),
    // A configured name may stand for a proxy that speaks TLS.
    origins: new Set([...hosts.map((host) => `http://${host}`), ...configured.map((host) => `https://${host}`)]),
  };
}

function isPublic(request: IncomingMessage): boolean {
  return publicRoutes.some((name) => routes[name].path === requestPath(request));
}

function tokenInUrl(request: IncomingMessage): boolean {
  const query = (request.url ?? "").split("?")[1];
  if (query === undefined) return false;
  const fields = new URLSearchParams(query);
  return fields.has("token") || fields.has("access_token");
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function unauthorized(message: string): AegisError {
  return new AegisError("unauthorized", message, {
    hint: "send the header `Authorization: Bearer <token>`; the token is in .aegis/state/daemon.json",
  });
}

function foreignHost(host: string | undefined): AegisError {
  const given = host === undefined ? "no Host header" : `Host ${JSON.stringify(host)}`;
  return new AegisError("forbidden", `requests with ${given} are refused`, {
    hint: "use the address in .aegis/state/daemon.json, or add the name to server.allowed_hosts",
  });
}

function foreignOrigin(origin: string): AegisError {
  return new AegisError("forbidden", `requests from the origin ${JSON.stringify(origin)} are refused`, {
    hint: "web pages may only be served by the daemon itself, or by a name in server.allowed_hosts",
  });
}
