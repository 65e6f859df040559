/**
 * Who may talk to the daemon. The token identifies the caller; Host and Origin keep out web pages, which can reach
 * loopback through their own host name. One check for plain requests, streams and upgrades.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { AegisError } from "@aegis/contract/errors.ts";
import { clientRoutes, personRoutes, publicRoutes, type RouteName, routes } from "@aegis/contract/routes.ts";
import { clientTokenForm } from "@aegis/lib/client-token.ts";

/** The port of a URL that names none. */
const defaultPort = 80;

export type Guard = {
  /** Why the request is refused from any sender, or null. Enough for a handler that authenticates its callers itself. */
  refusal(request: IncomingMessage): AegisError | null;
  /** Who sent the request, or why it is refused. */
  access(request: IncomingMessage): Access | AegisError;
};

export type Access = {
  caller: Caller;
  /** The request has shown a token or the cookie of a browser, which public routes do not need. */
  isProven: boolean;
};

/** Who sent a request: a browser of the web app, the user's own programs, or a client with its own credential. */
export type Caller = { kind: "owner"; browser: boolean } | { kind: "client"; name: string };

/** How browsers of the web app are recognised. */
export type BrowserCheck = {
  hasCookie(request: IncomingMessage): boolean;
  /** Why a request with a cookie is refused, or null. */
  refusal(request: IncomingMessage): AegisError | null;
};

export type GuardOptions = {
  token: string;
  /** The client that a token belongs to, or null. */
  clientOf: (token: string) => string | null;
  bind: string;
  port: number;
  /** Names besides the loopback ones, with a port or for any. */
  allowedHosts: readonly string[];
  browsers: BrowserCheck;
};

export function createGuard(options: GuardOptions): Guard {
  const { browsers } = options;
  const { hosts, origins } = ownNames(options);
  const tokenDigest = digest(options.token);
  const tokenHolder = (authorization: string): Caller | null => {
    const given = bearer(authorization);
    if (given === undefined) return null;
    // Equal lengths and constant time: neither tells anything about the token.
    if (timingSafeEqual(digest(given), tokenDigest)) return { kind: "owner", browser: false };
    const name = given.startsWith(clientTokenForm.lead) ? options.clientOf(given) : null;
    return name === null ? null : { kind: "client", name };
  };

  const refusal = (request: IncomingMessage): AegisError | null => {
    const unclear = ambiguity(request);
    if (unclear !== null) return unclear;
    const { host, origin } = request.headers;
    const { authority } = targetOf(request.url);
    if (authority !== null && !hosts.has(authority)) return foreignHost(authority);
    if (host === undefined || !hosts.has(host.toLowerCase())) return foreignHost(host);
    if (origin !== undefined && !origins.has(origin.toLowerCase())) return foreignOrigin(origin);
    return tokenInUrl(request) ? unauthorized("a token in a URL is not accepted: URLs end up in logs") : null;
  };

  return {
    refusal,
    access(request) {
      const refused = refusal(request);
      if (refused !== null) return refused;
      const { authorization } = request.headers;
      // A program that shows the token is no page: what else it carries does not count.
      const holder = authorization === undefined ? null : tokenHolder(authorization);
      if (holder !== null) return { caller: holder, isProven: true };
      const browser = authorization === undefined && browsers.hasCookie(request);
      const caller: Caller = { kind: "owner", browser };
      if (isPublic(requestPath(request))) return { caller, isProven: false };
      if (browser) return browsers.refusal(request) ?? { caller, isProven: true };
      return unauthorized(authorization === undefined ? "the request carries no token" : "the token is wrong");
    },
  };
}

function bearer(authorization: string): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

/** The path as sent, so that no decoding can make two paths out of one. */
export function requestPath(request: IncomingMessage): string {
  const target = targetOf(request.url).path;
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
  const names = ["127.0.0.1", "localhost", "[::1]", ...(isWildcard(bind) ? [] : [hostInUrl(bind).toLowerCase()])];
  // Clients leave out the port that the scheme implies.
  const local = names.flatMap((name) => [`${name}:${port}`, ...(port === defaultPort ? [name] : [])]);
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

export const loginPath = "/web/login";

/** The web app itself, which everyone may load: it holds no data. */
export function isWebPath(path: string): boolean {
  return path === "/" || path === loginPath || path.startsWith("/assets/");
}

function isPublic(path: string): boolean {
  return publicRoutes.some((name) => routes[name].path === path) || isWebPath(path);
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

/** Headers that may appear once. Node's parser itself refuses two lengths, and a length beside a transfer encoding. */
const single: ReadonlySet<string> = new Set([
  ...["host", "origin", "authorization", "content-type", "content-length", "content-encoding", "last-event-id"],
  ...["mcp-session-id", "mcp-protocol-version"],
]);

/**
 * Why the head of a request is ambiguous, or null. Node keeps the first of two `Host` headers and a proxy in front of it
 * may keep the last, so a request that says such a thing twice is refused instead of interpreted.
 */
function ambiguity({ rawHeaders, url }: IncomingMessage): AegisError | null {
  if (!targetOf(url).path.startsWith("/")) {
    return new AegisError("invalid", `the request's target ${JSON.stringify(url)} is neither a path nor an http URL`);
  }
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase();
    if (!single.has(name)) continue;
    if (seen.has(name)) {
      return new AegisError("invalid", `the request has more than one ${name} header`, {
        hint: `send ${name} once`,
      });
    }
    seen.add(name);
  }
  return null;
}

export type Target = {
  /** The host that an absolute target (`GET http://host/path`) names; null when the target is a path. */
  authority: string | null;
  /** Path and query as sent, so that no decoding can make two paths out of one. */
  path: string;
};

/** Clients behind a proxy send the whole URL; a server must take it for the path in it. */
export function targetOf(url: string | undefined): Target {
  if (url?.startsWith("/")) return { authority: null, path: url };
  const [, authority, rest = ""] = /^http:\/\/([^/?#]*)(.*)$/is.exec(url ?? "") ?? [];
  if (authority === undefined) return { authority: null, path: url || "/" };
  return { authority: authority.toLowerCase(), path: rest.startsWith("/") ? rest : `/${rest}` };
}

/** A client's credential opens only the routes that start and follow work. Consent needs a person in a browser. */
export function requireAllowedRoute(caller: Caller, name: RouteName): void {
  if (caller.kind === "owner" && (caller.browser || !personRoutes.includes(name))) return;
  if (caller.kind === "owner")
    throw new AegisError("forbidden", "only a person in the web app may use this endpoint", {
      hint: "on the command line, use aegis plugin or aegis agent",
    });
  if (clientRoutes.includes(name)) return;
  throw new AegisError("forbidden", `the client "${caller.name}" may not use this endpoint`, {
    hint: "the user's own commands can: see aegis --help",
  });
}
