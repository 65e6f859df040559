/** From a request to a handler's typed input and back, by the endpoint table alone. */
import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { type ApiOutput, type ApiRequest, type Endpoint, endpoints, tooLarge } from "../contract/api.ts";
import { AegisError } from "../contract/errors.ts";
import type { RouteName } from "../contract/routes.ts";
import { fieldProblems, problemText } from "../lib/issue-words.ts";
import { readJsonBody } from "./body.ts";
import type { Caller } from "./guard.ts";

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

/** Reads a route's requests: validates all parts and reports every problem at once. */
export function requestReader<N extends RouteName>(
  name: N,
  maxBodyBytes: number,
): (request: RoutedRequest) => Promise<ApiRequest<N>> {
  const endpoint: Endpoint = endpoints[name];
  // A field that would be ignored is a mistake the sender wants to hear of. Building a schema costs more than using it.
  const [path, query, body] = [endpoint.path.strict(), endpoint.query.strict(), endpoint.body.strict()];
  return async ({ incoming, parameters }) => {
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
