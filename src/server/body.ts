/** Reads a JSON body, and no more of it than allowed. */
import { AegisError } from "../contract/errors.ts";
import { errorText } from "../lib/log.ts";

/**
 * How much of a body that is too long is read and thrown away: a client that is still sending when it is refused would
 * see a broken connection instead of the reason.
 */
const longestDiscard = 64 * 1024 * 1024;

/** The value in the body; an empty object when there is none. */
export async function readJsonBody(request: Request, maxBytes: number): Promise<unknown> {
  if (!hasBody(request)) return {};
  requireJson(request);
  const bytes = await readBytes(request, maxBytes);
  return bytes.length === 0 ? {} : parseJson(decode(bytes));
}

function hasBody({ method, headers }: Request): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return headers.has("transfer-encoding") || (headers.get("content-length") ?? "0") !== "0";
}

function requireJson({ headers }: Request): void {
  const type = headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type) || headers.has("content-encoding")) {
    const given = headers.has("content-encoding") ? `content-encoding ${headers.get("content-encoding")}` : type;
    throw new AegisError(
      "unsupported_media_type",
      `a body of ${given === "" ? "no content-type" : given} is not read`,
      {
        hint: "send JSON with the header `content-type: application/json`",
      },
    );
  }
}

function requireLength({ headers }: Request, maxBytes: number, discard = 0): void {
  if (Number(headers.get("content-length") ?? 0) > maxBytes + discard) throw tooLarge(maxBytes);
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  requireLength(request, maxBytes, longestDiscard);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of request.body ?? []) {
      size += chunk.length;
      if (size > maxBytes + longestDiscard) throw tooLarge(maxBytes);
      if (size > maxBytes) chunks.length = 0;
      else chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof AegisError) throw error;
    throw new AegisError("invalid", `the body was cut after ${size} bytes`, { cause: error });
  }
  if (size > maxBytes) throw tooLarge(maxBytes);
  return Buffer.concat(chunks);
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
