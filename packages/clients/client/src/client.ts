/** The typed client. It depends only on the endpoint table, so it loads quickly and runs in browsers. */
import type { ApiBody, ApiOutput, ApiPath, ApiQuery } from "@aegis/contract/api.ts";
import { AegisError, type ErrorBody, type ErrorCode, errorStatus } from "@aegis/contract/errors.ts";
import { type Route, type RouteName, routes } from "@aegis/contract/routes.ts";

export type ClientOptions = {
  /** The daemon's address, such as `http://127.0.0.1:4321`. */
  url: string;
  /** The daemon's token. A page that the daemon serves has none: its cookie and `headers` identify it. */
  token?: string;
  /** Returns further headers for each request. */
  headers?: () => Readonly<Record<string, string>>;
  fetch?: typeof fetch;
};

export interface Client {
  readonly url: string;
  /** Calls a route by name. Throws `AegisError`, or the signal's reason if the signal aborts. */
  call<N extends RouteName>(name: N, ...input: CallArguments<N>): Promise<ApiOutput<N>>;
  /** Sends the same request and returns the unread response, for streams. */
  open<N extends RouteName>(name: N, ...input: CallArguments<N>): Promise<Response>;
}

export type CallInput<N extends RouteName> = Part<"path", ApiPath<N>> &
  Part<"query", QueryInput<ApiQuery<N>>> &
  Part<"body", ApiBody<N>> & { signal?: AbortSignal | undefined };

export type CallArguments<N extends RouteName> =
  Record<never, never> extends CallInput<N> ? [input?: CallInput<N>] : [input: CallInput<N>];

/**
 * Creates a client for a daemon whose address and token you know. It has no dependencies and runs in browsers. Use
 * `connect` to find the daemon of a folder instead.
 *
 * @example
 * ```ts
 * import { createClient } from "aegis/client";
 *
 * const client = createClient({ url: "http://127.0.0.1:4321", token: "…" });
 * const { sessions } = await client.call("listSessions");
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const base = options.url.replace(/\/+$/, "");
  const send = options.fetch ?? fetch;

  async function open(name: RouteName, input: LooseInput = {}): Promise<Response> {
    const { signal, body } = input;
    const route: Route = routes[name];
    const sendsBody = route.method !== "GET" && body !== undefined;
    const response = await send(`${base}${requestPath(route, input)}`, {
      method: route.method,
      redirect: "error",
      headers: {
        ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
        ...options.headers?.(),
        ...(sendsBody ? { "content-type": "application/json" } : {}),
      },
      ...(sendsBody ? { body: JSON.stringify(body) } : {}),
      ...(signal === undefined ? {} : { signal }),
    }).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : unreachable(base, error);
    });
    if (!response.ok) throw await failure(response, base);
    return response;
  }

  return {
    url: base,
    open: (name, ...[input]) => open(name, input as LooseInput | undefined),
    async call<N extends RouteName>(name: N, ...[input]: CallArguments<N>): Promise<ApiOutput<N>> {
      const response = await open(name, input as LooseInput | undefined);
      try {
        return (await response.json()) as ApiOutput<N>;
      } catch (error) {
        throw input?.signal?.aborted ? input.signal.reason : unreachable(base, error);
      }
    },
  };
}

/** The shape of every input, independent of its route. */
type LooseInput = {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
  signal?: AbortSignal | undefined;
};

/** A part that is optional if none of its fields is required. */
type Part<Name extends string, Value> = keyof Value extends never
  ? { [K in Name]?: undefined }
  : Record<never, never> extends Value
    ? { [K in Name]?: Value | undefined }
    : { [K in Name]: Value };

/** Queries are sent as text, so values that the table parses from text may be numbers or booleans. */
type QueryInput<Query> = {
  [K in keyof Query]: string extends Query[K] ? Query[K] | number | boolean : Query[K];
};

function requestPath(route: Route, input: LooseInput): string {
  const path = route.path.replace(/:(\w+)/g, (_, field: string) => encodeURIComponent(String(input.path?.[field])));
  const query = new URLSearchParams();
  for (const [field, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined) query.set(field, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

function unreachable(url: string, cause: unknown): AegisError {
  return new AegisError("unavailable", `no daemon answers at ${url}`, {
    hint: "see `aegis status`, or start one with `aegis up`",
    cause,
  });
}

async function failure(response: Response, url: string): Promise<AegisError> {
  const text = await response.text().catch(() => "");
  const body = errorBody(text);
  if (body !== null) return AegisError.fromBody(body);
  const code = codeOf(response.status);
  return new AegisError(code, `${url} answered with status ${response.status}, which is not a response of Aegis`);
}

function errorBody(text: string): ErrorBody | null {
  try {
    const value = JSON.parse(text) as Partial<ErrorBody> | null;
    return typeof value?.error?.message === "string" ? (value as ErrorBody) : null;
  } catch {
    return null;
  }
}

function codeOf(status: number): ErrorCode {
  const codes = Object.keys(errorStatus) as ErrorCode[];
  // A gateway replied instead of the daemon, so the daemon is unavailable.
  if (status >= 500) return "unavailable";
  return codes.find((code) => errorStatus[code] === status) ?? "invalid";
}
