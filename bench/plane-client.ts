/** Calls of a tool over MCP with as little client as possible, so that what is measured is the server. */
import { Agent, request } from "node:http";

export type ToolServer = { url: string; authorization: string | null; tool: string };

const protocolVersion = "2026-07-28";

export type Calls = { rate: number; samples: number[] };

export class PlaneClients {
  readonly #server: ToolServer;
  readonly #count: number;
  readonly #body: string;
  readonly #headers: Record<string, string>;

  constructor(server: ToolServer, count: number) {
    this.#server = server;
    this.#count = count;
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

  /**
   * Every client calls so often, one call after the other, over a connection of its own that is open before. Gives
   * calls per second and how long each took, in milliseconds.
   */
  async callAll(each: number): Promise<Calls> {
    const agents = Array.from({ length: this.#count }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    try {
      await Promise.all(agents.map((agent) => this.#call(agent)));
      const samples: number[] = [];
      const start = performance.now();
      await Promise.all(
        agents.map(async (agent) => {
          for (let call = 0; call < each; call++) {
            const sent = performance.now();
            await this.#call(agent);
            samples.push(performance.now() - sent);
          }
        }),
      );
      return { rate: (samples.length * 1000) / (performance.now() - start), samples };
    } finally {
      // A server closes what is idle for long: none is kept for the next round.
      for (const agent of agents) agent.destroy();
    }
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
