/**
 * The plane: each session's MCP endpoint. The credential identifies the caller. The MCP SDK serves the protocol and is
 * loaded when the first harness connects.
 */
import type { PlaneAddress } from "@aegis/drivers/driver.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { aborted } from "@aegis/lib/until-aborted.ts";
import type { Toolset } from "@aegis/sessions/tools/toolset.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import { Credentials } from "./credentials.ts";
import type { McpEndpoint } from "./mcp-endpoint.ts";

export type PlaneOptions = {
  store: Store;
  version: string;
  log: Logger;
  clock: Pick<Clock, "now">;
  /** The plane's URL; known once the server listens. */
  url: () => string;
};

export class Plane {
  readonly #options: PlaneOptions;
  readonly #credentials: Credentials;
  #endpoint: Promise<McpEndpoint> | null = null;

  constructor(options: PlaneOptions) {
    this.#options = options;
    this.#credentials = new Credentials(() => options.clock.now());
  }

  /** Opens the session's address. Revoking it ends its calls and invalidates the token. */
  open(session: Pick<SessionRow, "id">, tools: Toolset): { address: PlaneAddress; revoke: () => void } {
    const { token, credential, revoke } = this.#credentials.issue(session.id, tools);
    const address: PlaneAddress = {
      url: this.#options.url(),
      token,
      reached: (ms, signal) => before(credential.reached, ms, signal),
      listed: (ms, signal) => before(credential.listed, ms, signal),
      calls: () => credential.calls.state,
    };
    return { address, revoke };
  }

  /** Serves one HTTP request whose Host and Origin have been checked. `text` reads its body. */
  async fetch(request: Request, text: () => Promise<string> = () => request.text()): Promise<Response> {
    const credential = this.#credentials.find(bearerOf(request));
    if (!credential) return unauthorized();
    credential.markReached();
    this.#endpoint ??= import("./mcp-endpoint.ts").then((module) => new module.McpEndpoint(this.#options));
    const endpoint = await this.#endpoint;
    return endpoint.fetch(request, await text(), credential);
  }

  /** Notifies every connected harness that its tools changed. */
  toolsChanged(): void {
    this.#endpoint?.then(
      (endpoint) => endpoint.toolsChanged(),
      () => {},
    );
  }

  async close(): Promise<void> {
    await (await this.#endpoint)?.close();
  }
}

function bearerOf(request: Request): string {
  const match = /^Bearer (\S+)$/i.exec(request.headers.get("authorization") ?? "");
  return match?.[1] ?? "";
}

function unauthorized(): Response {
  const body = {
    jsonrpc: "2.0",
    id: null,
    error: { code: -32001, message: "this endpoint needs a session's own token" },
  };
  return Response.json(body, { status: 401, headers: { "www-authenticate": "Bearer" } });
}

/** Returns true if the promise resolves in time, false after `ms` or if the signal aborts first. */
function before(promise: Promise<void>, ms: number, signal: AbortSignal): Promise<boolean> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  return Promise.race([aborted(deadline).then(() => false), promise.then(() => true)]);
}
