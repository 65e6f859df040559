/** MCP over HTTP for clients with their own credential. Loaded on the first such request. */

import type { Clients } from "@aegis/http/mcp-clients.ts";
import { clientTokenForm } from "@aegis/lib/client-token.ts";
import type { Logger } from "@aegis/lib/log.ts";

export type McpHttpOptions = {
  clients: Pick<Clients, "nameOf">;
  version: string;
  /** Where the daemon listens. */
  url: () => string;
  log: Logger;
};

type Server = {
  fetch(request: Request, body: string, credential: { token: string; name: string }): Promise<Response>;
  close(): Promise<void>;
};

export class ClientEndpoint {
  readonly #options: McpHttpOptions;
  #server: Promise<Server> | null = null;

  constructor(options: McpHttpOptions) {
    this.#options = options;
  }

  /** Serves a request with the credential of a client. Returns null for any other request. */
  async fetch(request: Request, text: () => Promise<string>): Promise<Response | null> {
    const [, token = ""] = /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
    if (!token.startsWith(clientTokenForm.lead)) return null;
    const { clients, version, url, log } = this.#options;
    const name = clients.nameOf(token);
    if (name === null) return null;
    this.#server ??= import("@aegis/mcp-server/http.ts").then(({ McpHttp }) => {
      const report = (error: Error) => log.debug("an MCP request of a client was refused", { error: error.message });
      return new McpHttp({ version, url, report });
    });
    const server = await this.#server;
    return server.fetch(request, await text(), { token, name });
  }

  async close(): Promise<void> {
    await (await this.#server)?.close();
  }
}
