/** Reads a JSON body, and no more of it than allowed. Reads from Node's stream: a web stream costs more than a handler. */
import type { IncomingMessage } from "node:http";
import { AegisError } from "../contract/errors.ts";
import { errorText } from "../lib/log.ts";

/**
 * How much of a body that is too long is read and thrown away: a client that is still sending when it is refused would
 * see a broken connection instead of the reason.
 */
const longestDiscard = 64 * 1024 * 1024;

/** The value in the body; an empty object when there is none. */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  if (!hasBody(request)) return {};
  requireJson(request);
  const bytes = await readBytes(request, maxBytes);
  return bytes.length === 0 ? {} : parseJson(decode(bytes));
}

function hasBody({ method, headers }: IncomingMessage): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

function requireJson({ headers }: IncomingMessage): void {
  const type = headers["content-type"] ?? "";
  const encoding = headers["content-encoding"];
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type) || encoding !== undefined) {
    const given = encoding !== undefined ? `content-encoding ${encoding}` : type;
    throw new AegisError(
      "unsupported_media_type",
      `a body of ${given === "" ? "no content-type" : given} is not read`,
      {
        hint: "send JSON with the header `content-type: application/json`",
      },
    );
  }
}

async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const most = maxBytes + longestDiscard;
  if (Number(request.headers["content-length"] ?? 0) > most) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) chunks.length = 0;
    else chunks.push(chunk);
    if (size <= most) return;
    request.off("data", take);
    request.pause();
    reject(tooLarge(maxBytes));
  };
  const cut = (cause?: Error) =>
    reject(new AegisError("invalid", `the body ended after ${size} bytes`, cause === undefined ? {} : { cause }));
  request.on("data", take);
  request.once("end", resolve);
  request.once("error", cut);
  // After the end, this has no effect.
  request.once("close", cut);
  await promise;
  if (size > maxBytes) throw tooLarge(maxBytes);
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new AegisError("invalid", "the body is not valid UTF-8", { cause: error });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = errorPosition(text, errorText(error));
    const before = text.slice(0, position);
    const line = before.split("\n").length;
    const column = position - before.lastIndexOf("\n");
    throw new AegisError("invalid", `the body is not valid JSON at line ${line}, column ${column}`, {
      details: { position, line, column },
      cause: error,
    });
  }
}

/** The engine tells the position for every mistake but one, an unexpected token; that one is searched for. */
function errorPosition(text: string, message: string): number {
  const told = /at position (\d+)/.exec(message)?.[1];
  if (told !== undefined) return Number(told);
  if (!message.startsWith("Unexpected token")) return text.length;
  let valid = 0;
  let broken = text.length;
  while (broken - valid > 1) {
    const middle = (valid + broken) >> 1;
    if (hasUnexpectedToken(text.slice(0, middle))) broken = middle;
    else valid = middle;
  }
  return broken - 1;
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return errorText(error).startsWith("Unexpected token");
  }
}

export function tooLarge(maxBytes: number): AegisError {
  return new AegisError("too_large", `the body is larger than ${maxBytes} bytes`, {
    hint: "put large material into a file and name the file in the message",
  });
}
