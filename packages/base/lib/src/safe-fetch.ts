/**
 * Fetches a URL from an untrusted source. The host name is resolved once, the address is checked, and the connection
 * uses exactly that address. This prevents DNS rebinding. Every redirect is checked again. Size and time are limited.
 */
import { lookup } from "node:dns/promises";
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { errorText } from "./log.ts";
import { http } from "./node-http.ts";
import { isPublicAddress } from "./public-address.ts";
import { untilAborted } from "./until-aborted.ts";

export type Address = { address: string; family: 4 | 6 };

/** The network access. Only tests replace it. */
export interface Network {
  resolve(host: string): Promise<Address[]>;
  mayReach(address: string): boolean;
  /** The schemes allowed for origins that are not trusted. */
  schemes: readonly string[];
}

export const publicNetwork: Network = {
  async resolve(host) {
    const found = await lookup(host, { all: true, verbatim: true });
    return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
  },
  mayReach: isPublicAddress,
  schemes: ["https:"],
};

export type FetchOptions = {
  maxBytes: number;
  /** Covers resolving, connecting, redirects and the whole body. */
  timeoutMs: number;
  signal?: AbortSignal;
  headers?: Readonly<Record<string, string>>;
  /** Origins that the user configured. They may use plain HTTP and any address, including this machine. */
  trustedOrigins?: readonly string[];
  maxRedirects?: number;
  /** Sends a POST request with these bytes. */
  post?: Uint8Array;
  /** Resolves with the status and headers; the body of the response is not read. */
  ignoreBody?: boolean;
  network?: Network;
};

export type FetchResponse = {
  /** The URL after redirects. */
  url: URL;
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
};

/** `refused`: the URL or address is forbidden; `cut`: the response ended early; `failed`: there was no response. */
export type FetchProblem = "refused" | "redirects" | "too_large" | "timeout" | "cut" | "failed";

export class FetchError extends Error {
  override readonly name = "FetchError";
  readonly problem: FetchProblem;
  readonly url: string;

  constructor(problem: FetchProblem, url: URL, message: string, cause?: unknown) {
    super(`${shownUrl(url)}: ${message}`, cause === undefined ? undefined : { cause });
    this.problem = problem;
    this.url = shownUrl(url);
  }
}

/** Resolves for any HTTP status. Throws `FetchError`, or the signal's reason. */
export async function safeFetch(url: URL | string, options: FetchOptions): Promise<FetchResponse> {
  const deadline = AbortSignal.timeout(options.timeoutMs);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
  let target = new URL(url);
  let headers = { ...options.headers };
  for (let hops = 0; ; hops++) {
    const answer = await oneHop(target, headers, { ...options, signal }).catch((error: unknown) => {
      if (options.signal?.aborted) throw options.signal.reason;
      if (deadline.aborted) throw new FetchError("timeout", target, `no answer within ${options.timeoutMs} ms`, error);
      throw error;
    });
    const next = redirectOf(answer, target);
    if (next === null) return answer;
    if (hops >= (options.maxRedirects ?? defaultRedirects))
      throw new FetchError("redirects", target, "too many redirects");
    // Secrets are sent only to the origin they were given for.
    if (next.origin !== target.origin) headers = withoutSecrets(headers);
    target = next;
  }
}

/** Returns the checked addresses of a URL; empty for a trusted origin. Throws `FetchError`. */
export async function judgedAddresses(
  url: URL,
  { trustedOrigins = [], network = publicNetwork }: Pick<FetchOptions, "trustedOrigins" | "network">,
): Promise<Address[]> {
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new FetchError("refused", url, `${url.protocol} is not allowed`);
  if (url.username !== "" || url.password !== "")
    throw new FetchError("refused", url, "a URL with a user name or password is not allowed");
  if (trustedOrigins.includes(url.origin)) return [];
  if (!network.schemes.includes(url.protocol))
    throw new FetchError("refused", url, `only ${network.schemes.join(" ")} is allowed`);
  const host = bareHost(url);
  const addresses = isIP(host) === 0 ? await resolveHost(url, host, network) : [literal(host)];
  const closed = addresses.find(({ address }) => !network.mayReach(address));
  if (closed !== undefined)
    throw new FetchError("refused", url, `its address ${closed.address} is not on the open internet`);
  return addresses;
}

async function resolveHost(url: URL, host: string, network: Network): Promise<Address[]> {
  const found = await network.resolve(host).catch((error: unknown) => {
    throw new FetchError("failed", url, `its name could not be resolved: ${errorText(error)}`, error);
  });
  if (found.length === 0) throw new FetchError("failed", url, "its name has no address");
  return found;
}

async function oneHop(
  url: URL,
  headers: Record<string, string>,
  options: FetchOptions & { signal: AbortSignal },
): Promise<FetchResponse> {
  // Resolving a name cannot be stopped, only left behind.
  const addresses = await untilAborted(judgedAddresses(url, options), options.signal);
  const response = await connect(url, headers, addresses, options);
  const encoding = response.headers["content-encoding"] ?? "identity";
  const { statusCode: status = 0 } = response;
  const declared = Number(response.headers["content-length"] ?? 0);
  try {
    if (options.ignoreBody === true) return { url, status, headers: response.headers, body: Buffer.alloc(0) };
    if (encoding !== "identity")
      throw new FetchError("failed", url, `responded with the encoding ${encoding}, which was not requested`);
    if (declared > options.maxBytes) throw tooLarge(url, options.maxBytes);
    const body = await readBody(url, response, options.maxBytes);
    return { url, status, headers: response.headers, body };
  } finally {
    response.destroy();
  }
}

function connect(
  url: URL,
  headers: Record<string, string>,
  addresses: readonly Address[],
  { signal, post }: { signal: AbortSignal; post?: Uint8Array },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === "https:" ? httpsRequest : http.request;
    const sent: ClientRequest = request(url, {
      signal,
      method: post === undefined ? "GET" : "POST",
      // No connection reuse: a kept-alive connection could lead to an address that was checked for another name.
      agent: false,
      headers: {
        ...headers,
        "accept-encoding": "identity",
        ...(post === undefined ? {} : { "content-length": post.byteLength }),
      },
      ...(addresses.length === 0 ? {} : { lookup: pinnedTo(addresses) }),
    });
    sent.once("response", resolve);
    sent.once("error", (error) =>
      reject(signal.aborted ? signal.reason : new FetchError("failed", url, errorText(error), error)),
    );
    sent.end(post);
  });
}

async function readBody(url: URL, response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(url, maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof FetchError) throw error;
    throw new FetchError("cut", url, `the response ended early after ${size} bytes: ${errorText(error)}`, error);
  }
  if (!response.complete) throw new FetchError("cut", url, `the response ended early after ${size} bytes`);
  return Buffer.concat(chunks);
}

function redirectOf(answer: FetchResponse, from: URL): URL | null {
  const { location } = answer.headers;
  if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return null;
  if (!URL.canParse(location, from.href)) throw new FetchError("failed", from, "redirects to an invalid URL");
  return new URL(location, from);
}

/** Resolves every name to the checked addresses. */
function pinnedTo(addresses: readonly Address[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };
}

function withoutSecrets(headers: Record<string, string>): Record<string, string> {
  const secret = new Set(["authorization", "cookie", "proxy-authorization"]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !secret.has(name.toLowerCase())));
}

function literal(host: string): Address {
  return { address: host, family: isIP(host) === 6 ? 6 : 4 };
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

function tooLarge(url: URL, maxBytes: number): FetchError {
  return new FetchError("too_large", url, `more than ${maxBytes} bytes`);
}

/** Omits query, user name and password, which may contain secrets, because the result is logged. */
function shownUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}

const defaultRedirects = 5;
