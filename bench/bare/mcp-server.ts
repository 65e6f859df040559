/** The floor for a call of a tool: the MCP SDK on node:http with one tool that does nothing. Prints its port. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";

const handler = createMcpHandler(() => {
  const server = new Server({ name: "bare", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/call", async () => ({ content: [{ type: "text", text: "done" }] }));
  return server;
});
// Its type wants what a request of a server always has.
const serve = toNodeHandler(handler) as (request: IncomingMessage, response: ServerResponse) => Promise<void>;
const server = createServer((request, response) => void serve(request, response));
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
