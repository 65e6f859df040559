/**
 * The parts of a request that decide who is asked and by whom. Node keeps the first of two `Host` headers and a proxy in
 * front of it may keep the last, so a request that says such a thing twice is refused instead of interpreted.
 */
import type { IncomingMessage } from "node:http";
import { AegisError } from "../contract/errors.ts";

/** Headers that may appear once. Node's parser itself refuses two lengths, and a length beside a transfer encoding. */
const single: ReadonlySet<string> = new Set([
  ...["host", "origin", "authorization", "content-type", "content-length", "content-encoding", "last-event-id"],
  ...["mcp-session-id", "mcp-protocol-version"],
]);

/** Why the head of a request is ambiguous, or null. */
export function ambiguity({ rawHeaders, url }: IncomingMessage): AegisError | null {
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
  const [, authority, rest = ""] = /^http:\/\/([^/?#]*)(.*)$/is.exec(url ?? "") ?? [];
  if (authority === undefined) return { authority: null, path: url || "/" };
  return { authority: authority.toLowerCase(), path: rest.startsWith("/") ? rest : `/${rest}` };
}
