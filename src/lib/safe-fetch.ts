/**
 * Reading a URL that somebody else chose. The address is resolved once, judged, and exactly that address is connected
 * to, so that a name cannot mean a public machine when it is judged and this one when it is used. Redirects are judged
 * anew. Size and time have limits.
 */
import { lookup } from "node:dns/promises";
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { errorText } from "./log.ts";
import { isPublicAddress } from "./public-address.ts";

export type Address = { address: string; family: 4 | 6 };

/** What may be reached. Replaced only by tests. */
export interface Network {
  resolve(host: string): Promise<Address[]>;
  mayReach(address: string): boolean;
  /** For origins that nobody vouched for. */
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
  /** For everything: resolving, connecting, redirects, the whole body. */
  timeoutMs: number;
  signal?: AbortSignal;
  headers?: Readonly<Record<string, string>>;
  /** Origins that a person configured: may be plain HTTP and anywhere, also on this machine. */
  trustedOrigins?: readonly string[];
  maxRedirects?: number;
  network?: Network;
};

export type Fetched = {
  /** After redirects. */
  url: URL;
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
};

/** `refused`: the URL or the address is not for us; `cut`: the answer ended early; `failed`: no answer at all. */
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

/** Any status is an answer. Throws `FetchError`, or the signal's reason. */
export async function safeFetch(url: URL | string, options: FetchOptions): Promise<Fetched> {
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
      throw new FetchError("redirects", target, "redirects without an end");
    // Secrets are for the origin they were given for.
    if (next.origin !== target.origin) headers = withoutSecrets(headers);
    target = next;
  }
}

/** The addresses a URL may be reached at, judged; empty for a trusted origin. Throws `FetchError`. */
export async function judgedAddresses(
  url: URL,
  { trustedOrigins = [], network = publicNetwork }: Pick<FetchOptions, "trustedOrigins" | "network">,
): Promise<Address[]> {
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new FetchError("refused", url, `${url.protocol} is not fetched`);
  if (url.username !== "" || url.password !== "")
    throw new FetchError("refused", url, "a URL that carries a name or password is not fetched");
  if (trustedOrigins.includes(url.origin)) return [];
  if (!network.schemes.includes(url.protocol))
    throw new FetchError("refused", url, `only ${network.schemes.join(" ")} is fetched`);
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
): Promise<Fetched> {
  const addresses = await abortable(judgedAddresses(url, options), options.signal);
  const response = await connect(url, headers, addresses, options.signal);
  const encoding = response.headers["content-encoding"] ?? "identity";
  const { statusCode: status = 0 } = response;
  const declared = Number(response.headers["content-length"] ?? 0);
  try {
    if (encoding !== "identity")
      throw new FetchError("failed", url, `answered in ${encoding}, which was not asked for`);
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
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === "https:" ? httpsRequest : httpRequest;
    const sent: ClientRequest = request(url, {
      signal,
      // A connection of its own: one that is kept alive could be to an address that was judged for another name.
      agent: false,
      headers: { ...headers, "accept-encoding": "identity" },
      ...(addresses.length === 0 ? {} : { lookup: pinnedTo(addresses) }),
    });
    sent.once("response", resolve);
    sent.once("error", (error) =>
      reject(signal.aborted ? signal.reason : new FetchError("failed", url, errorText(error), error)),
    );
    sent.end();
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
    throw new FetchError("cut", url, `the answer was cut after ${size} bytes: ${errorText(error)}`, error);
  }
  if (!response.complete) throw new FetchError("cut", url, `the answer was cut after ${size} bytes`);
  return Buffer.concat(chunks);
}

function redirectOf(answer: Fetched, from: URL): URL | null {
  const { location } = answer.headers;
  if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return null;
  if (!URL.canParse(location, from.href)) throw new FetchError("failed", from, "redirects to something that is no URL");
  return new URL(location, from);
}

/** Answers every question for a name with the addresses that were judged. */
function pinnedTo(addresses: readonly Address[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };
}

/** Resolving a name cannot be stopped, only left behind. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const left = Promise.withResolvers<never>();
  const onAbort = () => left.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([promise, left.promise]).finally(() => signal.removeEventListener("abort", onAbort));
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

/** Without query, name and password: they may hold secrets, and this ends up in logs. */
function shownUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}

const defaultRedirects = 5;
