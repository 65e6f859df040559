/** The typed client. It is made from the endpoint table alone, so that it loads quickly and runs in a browser. */
import type { ApiBody, ApiOutput, ApiPath, ApiQuery } from "../contract/api.ts";
import { AegisError, type ErrorBody, type ErrorCode, errorStatus } from "../contract/errors.ts";
import { type Route, type RouteName, routes } from "../contract/routes.ts";

export type ClientOptions = {
  /** Where the daemon listens, as in `http://127.0.0.1:4321`. */
  url: string;
  token: string;
  fetch?: typeof fetch;
};

export interface Client {
  readonly url: string;
  /** Throws `AegisError`, or the signal's reason when it aborts. */
  call<N extends RouteName>(name: N, ...input: CallArguments<N>): Promise<ApiOutput<N>>;
  /** The same request with its answer unread, for streams. */
  open<N extends RouteName>(name: N, ...input: CallArguments<N>): Promise<Response>;
}

export type CallInput<N extends RouteName> = Part<"path", ApiPath<N>> &
  Part<"query", QueryInput<ApiQuery<N>>> &
  Part<"body", ApiBody<N>> & { signal?: AbortSignal | undefined };

export type CallArguments<N extends RouteName> =
  Record<never, never> extends CallInput<N> ? [input?: CallInput<N>] : [input: CallInput<N>];

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
        authorization: `Bearer ${options.token}`,
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

/** What every input looks like once its route is forgotten. */
type LooseInput = {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
  signal?: AbortSignal | undefined;
};

/** A part that can be left out whole when none of its fields is required. */
type Part<Name extends string, Value> = keyof Value extends never
  ? { [K in Name]?: undefined }
  : Record<never, never> extends Value
    ? { [K in Name]?: Value | undefined }
    : { [K in Name]: Value };

/** A query travels as text: what the table reads from text may be given as number or boolean. */
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
  return new AegisError(code, `${url} answered with status ${response.status}, which is not an answer of Aegis`);
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
  // A gateway's own words are not the daemon's: behind it nobody answered.
  if (status >= 500) return "unavailable";
  return codes.find((code) => errorStatus[code] === status) ?? "invalid";
}
