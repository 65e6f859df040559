/** A small MCP server on loopback in the place of the plane: one tool that answers, one that waits until told. */

import type { PlaneAddress } from "@aegis/drivers/driver.ts";
import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { startFake } from "./http-fake.ts";

export type FakePlane = {
  address: PlaneAddress;
  readonly calls: readonly { tool: string; text: string }[];
  /** Resolves when a call of this tool has come. */
  called(tool: string): Promise<void>;
  close(): Promise<void>;
};

export async function startFakePlane(): Promise<FakePlane> {
  const token = `secret-${crypto.randomUUID()}`;
  const calls: { tool: string; text: string }[] = [];
  const waiting: { tool: string; resolve: () => void }[] = [];
  const record = (tool: string, text: string) => {
    calls.push({ tool, text });
    for (const waiter of waiting) if (waiter.tool === tool) waiter.resolve();
  };

  const handler = toNodeHandler(
    createMcpHandler(() => {
      const server = new McpServer({ name: "aegis", version: "1.0.0" });
      const input = z.object({ text: z.string() });
      const readOnly = { readOnlyHint: true };
      server.registerTool("echo", { description: "Repeats", inputSchema: input, annotations: readOnly }, ({ text }) => {
        record("echo", text);
        return { content: [{ type: "text", text: `echo: ${text}` }] };
      });
      server.registerTool("change", { description: "Changes", inputSchema: input }, ({ text }) => {
        record("change", text);
        return { content: [{ type: "text", text: `changed: ${text}` }] };
      });
      server.registerTool("wait", { description: "Waits", inputSchema: input }, ({ text }) => {
        record("wait", text);
        return new Promise(() => {});
      });
      return server;
    }),
  );
  const fake = await startFake((request, body, response) => {
    if (request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end();
      return;
    }
    return handler(request as NodeIncomingMessageLike, response, body === "" ? undefined : JSON.parse(body));
  });
  return {
    address: {
      url: `${fake.url}/mcp`,
      token,
      reached: async () => true,
      calls: () => ({ open: 0, answeredAt: 0 }),
      listed: async () => true,
    },
    calls,
    called: (tool) =>
      new Promise((resolve) => {
        if (calls.some((call) => call.tool === tool)) resolve();
        else waiting.push({ tool, resolve });
      }),
    close: fake.close,
  };
}
