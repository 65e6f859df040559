/** A port that another program has. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { promisify } from "node:util";

/** A port that another program listens at until this is disposed. */
export async function takePort(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = promisify((done: (error?: Error) => void) => server.close(done));
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: close };
}
