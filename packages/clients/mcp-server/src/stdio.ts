/** Serves MCP over standard input and output. */
import { StdioServerTransport, serveStdio as serve } from "@modelcontextprotocol/server/stdio";
import type { McpContext } from "./context.ts";
import { createMcpServer } from "./server.ts";

export type StdioOptions = McpContext & {
  stdin: NodeJS.ReadableStream;
  signal: AbortSignal;
  warn: (line: string) => void;
};

/** Resolves when the client closes the input, or the signal aborts. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { stdin, signal, warn } = options;
  const ended = Promise.withResolvers<void>();
  const end = () => ended.resolve();
  stdin.once("end", end);
  stdin.once("close", end);
  signal.addEventListener("abort", end, { once: true });
  const transport = new StdioServerTransport();
  const handle = serve(() => createMcpServer(options), { transport, onerror: (error) => warn(error.message) });
  try {
    await ended.promise;
  } finally {
    signal.removeEventListener("abort", end);
    await handle.close().catch(() => {});
  }
}
