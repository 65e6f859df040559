/**
 * From a request to a handler's typed input, by the endpoint table alone. Reads a body from Node's stream, and no more of
 * it than allowed: a web stream costs more than a handler.
 */
import type { IncomingMessage } from "node:http";
import { type ApiOutput, type ApiRequest, type Endpoint, endpoints, tooLarge } from "@aegis/contract/api.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { RouteName } from "@aegis/contract/routes.ts";
import { fieldProblems, problemText } from "@aegis/lib/issue-words.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { z } from "zod";
import type { Caller } from "./guard.ts";

/**
 * How much of a body that is too long is read and thrown away: a client that is still sending when it is refused would
 * see a broken connection instead of the reason.
 */
const longestDiscard = 64 * 1024 * 1024;

/** A request, and the parameters in its path. */
export type RoutedRequest = { incoming: IncomingMessage; parameters: Record<string, string> };

/** Routes that answer with one JSON document. */
export type JsonRoute = Exclude<RouteName, "streamEvents">;

export type Handlers = { [N in JsonRoute]: Handler<N> };

export type Handler<N extends JsonRoute> = (
  request: ApiRequest<N>,
  signal: AbortSignal,
  caller: Caller,
) => Promise<ApiOutput<N>> | ApiOutput<N>;

/** Reads a route's requests: validates all parts and reports all problems together. */
export function requestReader<N extends RouteName>(
  name: N,
  maxBodyBytes: number,
): (request: RoutedRequest) => Promise<ApiRequest<N>> {
  let schemas: StrictSchemas | null = null;
  return async ({ incoming, parameters }) => {
    // Building schemas costs more than using them, and most routes are never requested.
    schemas ??= strictSchemas(endpoints[name]);
    const { path, query, body } = schemas;
    const problems = new Problems();
    const request = {
      path: problems.parse("path", path, parameters),
      query: problems.parse("query", query, queryOf(incoming)),
      body: problems.parse("body", body, await readJsonBody(incoming, maxBodyBytes)),
    };
    problems.throwIfAny();
    return request as ApiRequest<N>;
  };
}

type StrictSchemas = Record<Part, z.ZodObject>;

/** A field that would be ignored is a mistake the sender wants to hear of. */
function strictSchemas({ path, query, body }: Endpoint): StrictSchemas {
  return { path: path.strict(), query: query.strict(), body: body.strict() };
}

/** Where a field stands in the request. */
type Part = "path" | "query" | "body";
type Problem = { field: string; in: Part; message: string };

const nouns: Readonly<Record<Part, string>> = {
  path: "path parameter",
  query: "query parameter",
  body: "field",
};

class Problems {
  readonly #found: Problem[] = [];
  #tooLarge = false;

  parse(part: Part, schema: z.ZodObject, value: unknown): unknown {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const { issues } = result.error;
    const words = { known: Object.keys(schema.shape), noun: nouns[part] };
    this.#found.push(...fieldProblems(issues, words).map(({ field, message }) => ({ field, in: part, message })));
    if (issues.some((issue) => issue.code === "custom" && issue.params?.tooLarge === tooLarge.tooLarge))
      this.#tooLarge = true;
    return undefined;
  }

  throwIfAny(): void {
    if (this.#found.length === 0) return;
    const text = this.#found.map(problemText).join("; ");
    throw new AegisError(this.#tooLarge ? "too_large" : "invalid", text, { details: { problems: this.#found } });
  }
}

/** The first value of each field. `?after=` says no more than its absence. */
function queryOf({ url = "" }: IncomingMessage): Record<string, string> {
  const from = url.indexOf("?");
  if (from === -1) return {};
  const fields = [...new URLSearchParams(url.slice(from + 1))].filter(([, value]) => value !== "");
  return Object.fromEntries(fields.toReversed());
}

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

/** Throws if the body is longer. */
export async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const most = maxBytes + longestDiscard;
  if (Number(request.headers["content-length"] ?? 0) > most) throw bodyTooLarge(maxBytes);
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
    reject(bodyTooLarge(maxBytes));
  };
  const cut = (cause?: Error) =>
    reject(new AegisError("invalid", `the body ended after ${size} bytes`, cause === undefined ? {} : { cause }));
  request.on("data", take);
  request.once("error", cut);
  request.once("close", cut);
  request.once("end", () => {
    request.off("close", cut);
    resolve();
  });
  await promise;
  if (size > maxBytes) throw bodyTooLarge(maxBytes);
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

function bodyTooLarge(maxBytes: number): AegisError {
  return new AegisError("too_large", `the body is larger than ${maxBytes} bytes`, {
    hint: "put large material into a file and name the file in the message",
  });
}
