/**
 * A `fetch` for the daemon of a project. Node's own takes longer to load than most commands run, because it compiles its
 * HTTP parser to WebAssembly in each process.
 */
import type { IncomingMessage } from "node:http";
import type { DaemonFile } from "@aegis/lib/daemon-file.ts";
import { http } from "@aegis/lib/node-http.ts";
import { type Client, createClient } from "../client.ts";

/** A client of the daemon that wrote this file. */
export function daemonClient({ url, token }: Pick<DaemonFile, "url" | "token">): Client {
  return createClient({ url, token, fetch: httpFetch });
}

/** For `http:` URLs and text bodies. It does not follow redirects. */
export const httpFetch: typeof fetch = (input, init = {}) => {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const request = http.request(String(input), {
    method: init.method ?? "GET",
    headers: init.headers as Record<string, string> | undefined,
    ...(init.signal ? { signal: init.signal } : {}),
  });
  request.once("response", (incoming) => resolve(toResponse(incoming)));
  // The same error shape as fetch: the system error is the cause. The listener stays for errors after the response.
  request.on("error", (cause) => reject(new TypeError("fetch failed", { cause })));
  request.end(init.body ?? undefined);
  return promise;
};

/** The parts of a response that clients read: a real `Response` would load all of Node's fetch. */
function toResponse(incoming: IncomingMessage): Response {
  const status = incoming.statusCode ?? 0;
  const text = async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString("utf8");
  };
  const response = {
    ok: status >= 200 && status < 300,
    status,
    text,
    json: async () => JSON.parse(await text()) as unknown,
    body: { getReader: () => reader(incoming) },
  };
  return response as Pick<Response, "ok" | "status" | "text" | "json"> as Response;
}

function reader(incoming: IncomingMessage): { read(): Promise<IteratorResult<Buffer, undefined>> } {
  const chunks: AsyncIterator<Buffer, undefined> = incoming[Symbol.asyncIterator]();
  return { read: () => chunks.next() };
}
