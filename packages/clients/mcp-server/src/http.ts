/** Serves MCP over HTTP inside the daemon. Each request is independent and carries the credential of its client. */

import { createClient } from "@aegis/client/client.ts";
import { createMcpHandler, type McpHttpHandler } from "@modelcontextprotocol/server";
import { createMcpServer } from "./server.ts";

export type HttpOptions = {
  version: string;
  /** The address of the daemon, whose API the tools use with the credential of the client. */
  url: () => string;
  report: (error: Error) => void;
};

export class McpHttp {
  readonly #handler: McpHttpHandler;

  constructor({ version, url, report }: HttpOptions) {
    this.#handler = createMcpHandler(
      ({ authInfo }) => {
        if (authInfo === undefined) throw new Error("a request reached the MCP server without a credential");
        const client = createClient({ url: url(), token: authInfo.token });
        return createMcpServer({ client, version, refused: null, ready: async () => {}, onBreak: () => {} });
      },
      { onerror: report },
    );
  }

  /** The token has been checked. It authenticates the requests of the tools as well. */
  fetch(request: Request, body: string, { token, name }: { token: string; name: string }): Promise<Response> {
    const { url, method, headers, signal } = request;
    const whole = body === "" ? request : new Request(url, { method, headers, signal, body });
    return this.#handler.fetch(whole, { authInfo: { token, clientId: name, scopes: [] } });
  }

  close(): Promise<void> {
    return this.#handler.close();
  }
}
