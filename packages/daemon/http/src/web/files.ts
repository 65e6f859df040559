/**
 * Serves the files of the web app, which the build puts beside the program. Nothing is kept in memory: browsers cache
 * the hashed files for good, so that a file is read about once per browser and version.
 */
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { sendError } from "../refusals.ts";

/** One folder up from `packages/daemon/http/src/web/`; beside this module in `dist/`. */
const folder = new URL(import.meta.url.endsWith(".ts") ? "../../../../../dist/web/" : "./web/", import.meta.url);

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** No inline script or style, no request to another origin, no frame, no HTML from strings. */
export const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // The one policy of the app: the address of its own worker.
  "trusted-types aegis-worker",
].join("; ");

const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": pagePolicy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

const encodings = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

export async function serveFile(path: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  try {
    if (incoming.method !== "GET" && incoming.method !== "HEAD")
      throw new AegisError("method_not_allowed", `${path} accepts only GET and HEAD`);
    const file = path === "/" ? "index.html" : `assets/${await assetName(path.slice("/assets/".length))}`;
    const accepted = String(incoming.headers["accept-encoding"] ?? "");
    const encoding = encodings.find(([name]) => new RegExp(`\\b${name}\\b`).test(accepted));
    const body = await readFile(new URL(`${file}${encoding?.[1] ?? ""}`, folder));
    outgoing.writeHead(200, {
      ...pageHeaders,
      "content-type": types[extname(file)] ?? "application/octet-stream",
      "content-length": body.length,
      "cache-control": path === "/" ? "no-store" : "public, max-age=31536000, immutable",
      vary: "accept-encoding",
      ...(encoding === undefined ? {} : { "content-encoding": encoding[0] }),
    });
    outgoing.end(incoming.method === "HEAD" ? undefined : body);
  } catch (error) {
    if (!outgoing.headersSent) sendError(outgoing, asRefusal(error, path));
  }
}

/** Only a name that the folder lists: nothing of the path reaches the file system. */
async function assetName(name: string): Promise<string> {
  const names = await readdir(new URL("assets/", folder));
  if (names.includes(name) && !/\.(?:br|gz)$/.test(name)) return name;
  throw new AegisError("not_found", `the web app has no file ${JSON.stringify(name)}`, { hint: "reload the page" });
}

function asRefusal(error: unknown, path: string): AegisError {
  if (error instanceof AegisError) return error;
  if (isErrno(error, "ENOENT"))
    return new AegisError("not_found", "the web app is not built", { hint: "in a source checkout: npm run build" });
  return new AegisError("internal", `${path} could not be read`, { cause: error });
}
