/** Processes of a benchmark that are not Aegis: what it is compared with. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@aegis/client/client.ts";

const echoServer = fileURLToPath(new URL("echo-server.ts", import.meta.url));

const mcpServer = fileURLToPath(new URL("mcp-server.ts", import.meta.url));
const modelServer = fileURLToPath(new URL("model-server.ts", import.meta.url));

/** What a process needs that only listens. */
const idleServer = `
  const server = require("node:http").createServer((request, response) => response.end());
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

/** Ends with the scope. */
export async function startEchoServer(scope: AsyncDisposableStack): Promise<Client> {
  const { port } = await listening([echoServer], scope);
  return createClient({ url: `http://127.0.0.1:${port}`, token: "none" });
}

/** Ends with the scope. Gives its address. */
export async function startMcpServer(scope: AsyncDisposableStack): Promise<string> {
  const { port } = await listening([mcpServer], scope);
  return `http://127.0.0.1:${port}/mcp`;
}

/** Ends with the scope. Gives the address of its API. */
export async function startModelServer(scope: AsyncDisposableStack): Promise<string> {
  const { port } = await listening([modelServer], scope);
  return `http://127.0.0.1:${port}/v1`;
}

/** Ends with the scope. Gives its pid. */
export async function startIdleServer(scope: AsyncDisposableStack): Promise<number> {
  return (await listening(["-e", idleServer], scope)).pid;
}

/** A child that prints the port it listens on. */
async function listening(argv: string[], scope: AsyncDisposableStack): Promise<{ pid: number; port: number }> {
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  scope.defer(() => ended(child));
  const [line] = (await Promise.race([once(child.stdout, "data"), failed(child)])) as [Buffer];
  return { pid: child.pid ?? 0, port: Number(line.toString()) };
}

async function failed(child: ChildProcess): Promise<never> {
  const [code] = (await once(child, "exit")) as [number | null];
  throw new Error(`${child.spawnargs.join(" ")} exited with ${code}`);
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
