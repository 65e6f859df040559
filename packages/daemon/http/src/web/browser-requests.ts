/** Requests from browsers: the files of the app, which browser a cookie belongs to, and the exchange of a code. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { routes } from "@aegis/contract/routes.ts";
import { loginPath, requestPath } from "../guard.ts";
import { sendError } from "../refusals.ts";
import { readJsonBody } from "../requests.ts";
import { cookieMs, type WebAccess } from "./access.ts";

const keyHeader = "x-aegis-web";
const bodyBytes = 1024;

/** Serves a file of the web app. Loaded with the first request for one. */
export type ServeFile = (path: string, incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

export type BrowserRequests = {
  /** Whether the request carries the cookie of a browser. */
  hasCookie(request: IncomingMessage): boolean;
  /** Why a request with a cookie is refused, or null. */
  refusal(request: IncomingMessage): AegisError | null;
  /** Remembers an accepted request of a browser, so that revoking its access ends it. */
  accepted(request: IncomingMessage, response: ServerResponse): void;
  serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void>;
};

export function createBrowserRequests(options: {
  access: WebAccess;
  port: number;
  serveFile: ServeFile;
}): BrowserRequests {
  const { access, port, serveFile } = options;
  // Cookies are shared by all ports of a host, so that the name tells the daemons apart.
  const names = [`aegis_${port}`, `__Host-aegis_${port}`];
  const browsers = new WeakMap<IncomingMessage, string>();

  return {
    hasCookie: (request) => cookieOf(request, names) !== null,
    refusal(request) {
      const cookie = cookieOf(request, names);
      if (cookie === null) return null;
      const foreign = foreignSite(request);
      if (foreign !== null) return foreign;
      try {
        browsers.set(request, access.require(cookie, headerOf(request, keyHeader)));
      } catch (error) {
        if (isAegisError(error)) return error;
        throw error;
      }
      if (requestPath(request) !== routes.createWebCode.path) return null;
      return new AegisError("forbidden", "a browser cannot give access to another browser", {
        hint: "run `aegis web` in the project's folder",
      });
    },
    accepted(request, response) {
      const browser = browsers.get(request);
      if (browser !== undefined) access.track(browser, response);
    },
    async serve(incoming, outgoing) {
      const path = requestPath(incoming);
      if (path !== loginPath) return await serveFile(path, incoming, outgoing);
      try {
        await login(incoming, outgoing, access, names);
      } catch (error) {
        const known = isAegisError(error) ? error : new AegisError("internal", "the login failed", { cause: error });
        sendError(outgoing, known);
      }
    },
  };
}

async function login(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  access: WebAccess,
  [plainName, hostName]: readonly string[],
): Promise<void> {
  if (incoming.method !== "POST")
    throw new AegisError("method_not_allowed", `${loginPath} accepts only POST`, { hint: "aegis web prints a link" });
  const foreign = foreignSite(incoming);
  if (foreign !== null) throw foreign;
  // A form cannot send JSON, and a foreign page may not without a preflight.
  const code = ((await readJsonBody(incoming, bodyBytes)) as { code?: unknown } | null)?.code;
  if (typeof code !== "string") throw new AegisError("invalid", 'expected a body such as {"code": "…"}');
  const { cookie, key } = await access.login(code, incoming.headers["user-agent"] ?? "");
  // Only a configured name may be reached over TLS; the guard has checked the origin.
  const secure = incoming.headers.origin?.startsWith("https:") === true;
  const attributes = `HttpOnly; SameSite=Strict; Path=/; Max-Age=${cookieMs / 1000}${secure ? "; Secure" : ""}`;
  outgoing.writeHead(200, {
    "content-type": "application/json",
    "set-cookie": `${secure ? hostName : plainName}=${cookie}; ${attributes}`,
  });
  outgoing.end(JSON.stringify({ key }));
}

/** Browsers say where a request comes from. Pages of another port count as the same site, but not the same origin. */
function foreignSite(request: IncomingMessage): AegisError | null {
  const site = headerOf(request, "sec-fetch-site");
  if (site === undefined || site === "same-origin" || site === "none") return null;
  return new AegisError("forbidden", `requests from another site are refused (Sec-Fetch-Site: ${site})`);
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
}

function cookieOf(request: IncomingMessage, names: readonly string[]): string | null {
  const header = request.headers.cookie;
  if (header === undefined) return null;
  for (const part of header.split(";")) {
    const cut = part.indexOf("=");
    if (cut !== -1 && names.includes(part.slice(0, cut).trim())) return part.slice(cut + 1).trim();
  }
  return null;
}
