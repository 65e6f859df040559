/**
 * Serves a path whose handler speaks web-standard requests and needs no router. A body is read here and not handed over
 * as a stream, which would cost more than most handlers do.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "@aegis/lib/clock.ts";
import { readBytes } from "./requests.ts";

/**
 * The request has no body; `text` reads it, so that a caller can be refused before. Throws when it is too long. `bytes`
 * reads it for a handler that recognises its caller by the body itself.
 */
export type MountedHandler = (
  request: Request,
  text: () => Promise<string>,
  bytes: (maxBytes: number) => Promise<Buffer>,
) => Response | Promise<Response>;

export type MountOptions = {
  maxBodyBytes: number;
  /** How long the client may leave its socket full. */
  stallMs: number;
  clock: Clock;
  /** Called once the handler has recognised its caller: when it reads the body, or answers without an error. */
  prove: () => void;
  /** The response to an error that the handler throws. */
  refuse: (error: unknown) => Response;
};

export async function serveMounted(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handler: MountedHandler,
  options: MountOptions,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const { maxBodyBytes, refuse, prove } = options;
  let response: Response;
  try {
    const text = async () => {
      prove();
      return (await readBytes(incoming, maxBodyBytes)).toString();
    };
    const bytes = (most: number) => readBytes(incoming, Math.min(most, maxBodyBytes));
    response = await handler(requestOf(incoming, gone.signal), text, bytes);
    if (response.ok) prove();
  } catch (error) {
    response = refuse(error);
  }
  await send(outgoing, response, gone.signal, options);
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", headers, url = "/" } = incoming;
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) if (typeof value === "string") plain[name] = value;
  const request = new Request(`http://${headers.host}${url}`, { method, headers: plain });
  // Given to the constructor, it would be followed by a second signal, which costs more than the rest of the request.
  return Object.defineProperty(request, "signal", { value: signal });
}

async function send(
  outgoing: ServerResponse,
  response: Response,
  gone: AbortSignal,
  options: Pick<MountOptions, "stallMs" | "clock">,
): Promise<void> {
  if (outgoing.destroyed) return void response.body?.cancel().catch(() => {});
  const headers = Object.fromEntries(response.headers);
  if (response.body === null || !isStream(response)) {
    const bytes = Buffer.from(await response.arrayBuffer());
    outgoing.writeHead(response.status, { ...headers, "content-length": bytes.length });
    outgoing.end(bytes);
    return;
  }
  outgoing.writeHead(response.status, headers);
  outgoing.flushHeaders();
  const reader = response.body.getReader();
  gone.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (!outgoing.write(next.value)) await drained(outgoing, gone, options);
  }
  outgoing.end();
}

function isStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

/** Closes the connection of a client that reads nothing for too long. */
async function drained(
  outgoing: ServerResponse,
  gone: AbortSignal,
  { stallMs, clock }: Pick<MountOptions, "stallMs" | "clock">,
): Promise<void> {
  const waiting = new AbortController();
  outgoing.once("drain", () => waiting.abort());
  await clock.sleep(stallMs, AbortSignal.any([waiting.signal, gone])).then(
    () => outgoing.destroy(),
    () => {},
  );
}
