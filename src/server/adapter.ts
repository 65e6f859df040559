/** From a request to a handler's typed input and back, by the endpoint table alone. */
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { z } from "zod";
import { type ApiOutput, type ApiRequest, type Endpoint, endpoints, tooLarge } from "../contract/api.ts";
import { AegisError } from "../contract/errors.ts";
import type { RouteName } from "../contract/routes.ts";
import { didYouMean } from "../lib/nearest.ts";
import { readJsonBody } from "./body.ts";

export type AppContext = Context<{ Bindings: HttpBindings }>;

/** Routes that answer with one JSON document. */
export type JsonRoute = Exclude<RouteName, "streamEvents">;

export type Handlers = { [N in JsonRoute]: Handler<N> };

export type Handler<N extends JsonRoute> = (
  request: ApiRequest<N>,
  signal: AbortSignal,
) => Promise<ApiOutput<N>> | ApiOutput<N>;

/** Reads a route's requests: validates all parts and reports every problem at once. */
export function requestReader<N extends RouteName>(
  name: N,
  maxBodyBytes: number,
): (c: AppContext) => Promise<ApiRequest<N>> {
  const endpoint: Endpoint = endpoints[name];
  // A field that would be ignored is a mistake the sender wants to hear of. Building a schema costs more than using it.
  const [path, query, body] = [endpoint.path.strict(), endpoint.query.strict(), endpoint.body.strict()];
  return async (c) => {
    const problems = new Problems();
    const request = {
      path: problems.parse("path", path, c.req.param()),
      query: problems.parse("query", query, withoutEmpty(c.req.query())),
      body: problems.parse("body", body, await readJsonBody(c.req.raw, maxBodyBytes)),
    };
    problems.throwIfAny();
    return request as ApiRequest<N>;
  };
}

type Problem = { field: string; message: string };

class Problems {
  readonly #found: Problem[] = [];
  #tooLarge = false;

  parse(part: string, schema: z.ZodObject, value: unknown): unknown {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    for (const issue of result.error.issues) this.#add(part, schema, issue);
    return undefined;
  }

  throwIfAny(): void {
    if (this.#found.length === 0) return;
    const text = this.#found.map(({ field, message }) => `${field}: ${message}`).join("; ");
    throw new AegisError(this.#tooLarge ? "too_large" : "invalid", text, { details: { problems: this.#found } });
  }

  #add(part: string, schema: z.ZodObject, issue: z.core.$ZodIssue): void {
    const field = [part, ...issue.path.map(String)].join(".");
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) {
        const near = didYouMean(key, Object.keys(schema.shape));
        this.#found.push({ field: `${field}.${key}`, message: `unknown field${near}` });
      }
      return;
    }
    if (issue.code === "custom" && issue.params?.tooLarge === tooLarge.tooLarge) this.#tooLarge = true;
    this.#found.push({ field, message: issue.message });
  }
}

/** `?after=` says no more than its absence. */
function withoutEmpty(query: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
}
