/** Calls of a tool over MCP with as little client as possible, so that what is measured is the server. */
import { Agent, request } from "node:http";

export type ToolServer = { url: string; authorization: string | null; tool: string };

const protocolVersion = "2026-07-28";

/** Over connections that are kept, one for each client. */
export class PlaneClients {
  readonly #agents: Agent[];
  readonly #server: ToolServer;
  readonly #body: string;
  readonly #headers: Record<string, string>;

  constructor(server: ToolServer, count: number) {
    this.#server = server;
    this.#agents = Array.from({ length: count }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    this.#body = bodyFor(server.tool);
    this.#headers = {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(this.#body)),
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": protocolVersion,
      "mcp-method": "tools/call",
      "mcp-name": server.tool,
      ...(server.authorization === null ? {} : { authorization: server.authorization }),
    };
  }

  /** Every client calls so often, one call after the other. Gives how long each call took, in milliseconds. */
  async callAll(each: number): Promise<number[]> {
    const samples: number[] = [];
    await Promise.all(
      this.#agents.map(async (agent) => {
        for (let call = 0; call < each; call++) {
          const start = performance.now();
          await this.#call(agent);
          samples.push(performance.now() - start);
        }
      }),
    );
    return samples;
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy();
  }

  #call(agent: Agent): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sent = request(this.#server.url, { method: "POST", agent, headers: this.#headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("error", reject);
      response.on("end", () => {
        const answered = response.statusCode === 200 && text.includes('"content"') && !text.includes('"isError":true');
        if (answered) resolve();
        else reject(new Error(`${this.#server.url} answered ${response.statusCode}: ${text.slice(0, 500)}`));
      });
    });
    sent.on("error", reject);
    sent.end(this.#body);
    return promise;
  }
}

function bodyFor(tool: string): string {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": protocolVersion,
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: {}, _meta } });
}
