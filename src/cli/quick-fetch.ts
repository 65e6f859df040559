/**
 * `fetch` for one small JSON answer over a plain socket. Node's own fetch and its HTTP module take longer to load than
 * everything else `aegis status` does; asked in HTTP/1.0, a server closes the connection where its answer ends.
 */
import { connect } from "node:net";

const maxBytes = 16 * 1024 * 1024;

/** For `http:` addresses and answers that end; not for streams. */
export const quickFetch: typeof fetch = async (input, init) => {
  const url = new URL(String(input));
  const body = typeof init?.body === "string" ? init.body : "";
  const headers: Record<string, string> = {
    ...(init?.headers as Record<string, string> | undefined),
    host: url.host,
    ...(body === "" ? {} : { "content-length": String(Buffer.byteLength(body)) }),
  };
  const head = [
    `${init?.method ?? "GET"} ${url.pathname}${url.search} HTTP/1.0`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const answer = await exchange(url, `${head.join("\r\n")}\r\n\r\n${body}`, init?.signal ?? undefined);
  return toResponse(answer);
};

function exchange(url: URL, request: string, signal: AbortSignal | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const socket = connect({
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: Number(url.port === "" ? 80 : url.port),
      ...(signal === undefined ? {} : { signal }),
    });
    socket.once("connect", () => socket.write(request));
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) socket.destroy(new Error(`the answer is longer than ${maxBytes} bytes`));
    });
    socket.once("end", () => resolve(Buffer.concat(chunks)));
    // The same shape as fetch gives: what the system said is the cause.
    socket.once("error", (cause) => reject(new TypeError("fetch failed", { cause })));
    socket.once("close", () => reject(new TypeError("fetch failed")));
  });
}

/** As much of a response as the client reads: a real one would load all of Node's fetch. */
function toResponse(answer: Buffer): Response {
  const split = answer.indexOf("\r\n\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(answer.toString("latin1", 0, 16))?.[1]);
  if (split === -1 || Number.isNaN(status)) throw new TypeError("fetch failed: this is not an answer over HTTP");
  const text = answer.toString("utf8", split + 4);
  const response: Pick<Response, "ok" | "status" | "text" | "json"> = {
    ok: status >= 200 && status < 300,
    status,
    text: async () => text,
    json: async () => JSON.parse(text),
  };
  return response as Response;
}
