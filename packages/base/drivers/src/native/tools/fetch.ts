/** Fetches a page or a document over HTTP. */
import { lookup as systemLookup } from "node:dns";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Clock } from "@aegis/lib/clock.ts";
import { http } from "@aegis/lib/node-http.ts";
import { isPublicAddress } from "@aegis/lib/public-address.ts";
import { z } from "zod";
import { capText } from "./cap.ts";
import { defineTool, done, failed, type Tool, type ToolContext, ToolError } from "./tool.ts";

const timeoutMs = 30_000;
const largestBody = 2 * 1024 * 1024;
const mostRedirects = 5;

export function fetchTool(): Tool {
  return defineTool({
    name: "fetch",
    description: "Get a page or document by http or https. HTML comes as plain text.",
    kind: "fetch",
    effect: "network",
    input: z.object({ url: z.string().refine(isWebAddress, { error: "expected an http or https address" }) }),
    title: ({ url }) => `Fetch ${url}`,
    async run({ url }, context) {
      const { signal, over } = deadline(context.clock, context.signal);
      try {
        const answer = await follow(new URL(url), { ...context, signal });
        const text = readable(answer);
        const note = answer.cut ? `\n[cut: the document is larger than ${largestBody} bytes]` : "";
        const body = capText(text, "Fetch a more specific page.") + note;
        return answer.status < 400 ? done(body) : failed(`HTTP ${answer.status}\n${body}`);
      } catch (error) {
        context.signal.throwIfAborted();
        if (signal.aborted) throw new ToolError(`${url} did not answer within ${timeoutMs / 1000} s.`);
        throw error;
      } finally {
        over();
      }
    },
  });
}

function isWebAddress(url: string): boolean {
  return /^https?:/i.test(url) && URL.canParse(url);
}

type Answer = { status: number; type: string; body: Buffer; cut: boolean; location: string | undefined };

async function follow(first: URL, context: ToolContext): Promise<Answer> {
  let url = first;
  for (let hops = 0; hops <= mostRedirects; hops++) {
    const answer = await get(url, context);
    if (answer.location === undefined || answer.status < 300 || answer.status > 399) return answer;
    url = new URL(answer.location, url);
  }
  throw new ToolError(`${first.href} redirects more than ${mostRedirects} times.`);
}

function get(url: URL, context: ToolContext): Promise<Answer> {
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new ToolError(`${url.protocol} URLs cannot be fetched, only http and https.`);
  if (url.username !== "" || url.password !== "") throw new ToolError("A URL with a password is not fetched.");
  if (!context.allowPrivateFetch) refuseLiteral(url.hostname);
  const request = url.protocol === "https:" ? httpsRequest : http.request;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      signal: context.signal,
      headers: { "user-agent": "aegis", accept: "text/*, application/json, */*;q=0.5", "accept-encoding": "identity" },
      ...(context.allowPrivateFetch ? {} : { lookup: guardedLookup }),
    });
    sent.on("error", reject);
    sent.on("response", (response) => read(response).then(resolve, reject));
    sent.end();
  });
}

async function read(response: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0, headers } = response;
  const answer = { status, type: headers["content-type"] ?? "", location: headers.location };
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > largestBody) break;
  }
  return { ...answer, body: Buffer.concat(chunks).subarray(0, largestBody), cut: size > largestBody };
}

function readable({ type, body }: Answer): string {
  if (body.length === 0) return "(empty)";
  if (body.subarray(0, 8192).includes(0)) throw new ToolError(`The document is binary (${type || "unknown type"}).`);
  const text = body.toString("utf8");
  return /html/i.test(type) || /^\s*<(!doctype html|html)/i.test(text) ? htmlText(text) : text;
}

/** The caller's signal or the time limit, whichever comes first. The caller must call `over`. */
function deadline(clock: Clock, signal: AbortSignal): { signal: AbortSignal; over: () => void } {
  const late = new AbortController();
  const over = new AbortController();
  clock.sleep(timeoutMs, over.signal).then(
    () => late.abort(),
    () => undefined,
  );
  return { signal: AbortSignal.any([signal, late.signal]), over: () => over.abort() };
}

/**
 * Resolves a name and rejects private addresses at connect time, so that a name that resolves differently the second
 * time (DNS rebinding) is rejected too.
 */
const guardedLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, "", 0);
    const blocked = addresses.find((entry) => !isPublicAddress(entry.address));
    if (blocked !== undefined) return callback(refusal(hostname), "", 0);
    if (options.all === true) return callback(null, addresses);
    const first = addresses[0];
    return first === undefined ? callback(refusal(hostname), "", 0) : callback(null, first.address, first.family);
  });
};

/** An IP address in the URL is never looked up, so it is checked here. */
function refuseLiteral(hostname: string): void {
  const bare = hostname.replace(/^\[|\]$/g, "");
  if (isIP(bare) !== 0 && !isPublicAddress(bare)) throw refusal(bare);
}

function refusal(host: string): ToolError {
  return new ToolError(`${host} is on this machine or a private network, which fetch may not reach.`);
}

/** The readable text of an HTML page. Deliberately simple: a model tolerates what is left over. */
function htmlText(html: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(html)?.[1]?.trim();
  const body = html
    .replace(/<!--[\s\S]*?-->/g, "")
    .replace(/<(script|style|noscript|svg|head|template)\b[^>]*>[\s\S]*?<\/\1\s*>/gi, "")
    .replace(/<li\b[^>]*>/gi, "\n- ")
    .replace(/<h([1-6])\b[^>]*>/gi, (_, level: string) => `\n\n${"#".repeat(Number(level))} `)
    .replace(
      /<(br|hr)\b[^>]*>|<\/(p|div|tr|table|ul|ol|section|article|header|footer|h[1-6]|pre|blockquote)\s*>/gi,
      "\n",
    )
    .replace(/<\/t[dh]\s*>/gi, "\t")
    .replace(/<[^>]+>/g, "");
  const text = decodeEntities(body)
    .split("\n")
    .map((line) => line.replace(/[ \t\u00a0]+/g, " ").trim())
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return title === undefined || title === "" ? text : `${decodeEntities(title)}\n\n${text}`;
}

const entities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  copy: "©",
};

function decodeEntities(text: string): string {
  return text.replace(/&(#x[0-9a-f]+|#\d+|[a-z]+);/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return entities[name.toLowerCase()] ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
