/** A client of the ClawHub v1 registry API. */
import { createHash } from "node:crypto";
import { AegisError, type ErrorCode } from "@aegis/contract/errors.ts";
import type { RegistryDetail, RegistrySkill } from "@aegis/contract/skill-install.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { FetchError, type FetchResponse, type Network, safeFetch } from "@aegis/lib/safe-fetch.ts";
import { z } from "zod";
import { asAegisError } from "./problems.ts";

export type ClawhubOptions = {
  /** The base URL. A person configured it, so any host is allowed. */
  url: () => string;
  /** Raises the rate limit; null for none. */
  token: () => string | null;
  clock: Clock;
  network?: Network;
};

export type RegistryName = { owner: string | null; slug: string };

/** One file of a version, as the registry lists it. */
export type ListedFile = { path: string; sha256: string | null };

export type RegistryVersion = { version: string; files: ListedFile[] };

export type Download =
  | { kind: "zip"; bytes: Buffer }
  /** The registry only points to a repository. */
  | { kind: "git"; repo: string; commit: string; path: string | null };

const limits = { json: 4 << 20, file: 256 << 10, archive: 64 << 20 };
const timeoutMs = 60_000;
/** The delays between retries when the registry fails. */
const pausesMs = [1000, 3000];
const longestPauseMs = 60_000;
const mostRefusals = 4;

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");
const searchSchema = z.object({
  results: z.array(
    z.object({
      slug: z.string().nullish(),
      displayName: text,
      summary: text,
      version: z.string().nullish(),
      ownerHandle: z.string().nullish(),
    }),
  ),
});
const skillSchema = z.object({
  skill: z.object({ slug: z.string(), displayName: text, summary: text, updatedAt: z.number().nullish() }).nullable(),
  latestVersion: z.object({ version: z.string() }).nullish(),
  metadata: z.object({ os: z.array(z.string()).nullish() }).nullish(),
  owner: z.object({ handle: z.string().nullish() }).nullish(),
  moderation: z
    .object({
      isSuspicious: z.boolean().default(false),
      isMalwareBlocked: z.boolean().default(false),
      reasonCodes: z.array(z.string()).default([]),
    })
    .nullish(),
});
const versionSchema = z.object({
  version: z.object({
    version: z.string(),
    files: z.array(z.object({ path: z.string(), sha256: z.string().nullish() })).nullish(),
  }),
});
const handOffSchema = z.object({
  repo: z.string().regex(/^[A-Za-z0-9-]+\/[A-Za-z0-9._-]+$/),
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  path: z.string().nullish(),
});

export class ClawHubClient {
  readonly #options: ClawhubOptions;

  constructor(options: ClawhubOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url().replace(/\/+$/, "");
  }

  async search(query: string, limit: number, signal: AbortSignal): Promise<RegistrySkill[]> {
    const { results } = await this.#json(searchSchema, "search", { q: query, limit: String(limit) }, signal);
    return results.flatMap(({ slug, displayName, summary, version, ownerHandle }) =>
      slug == null ? [] : [{ slug, owner: ownerHandle ?? null, title: displayName, summary, version: version ?? null }],
    );
  }

  async info(name: RegistryName, signal: AbortSignal): Promise<RegistryDetail> {
    const found = await this.#json(skillSchema, `skills/${encodeURIComponent(name.slug)}`, owned(name), signal);
    if (found.skill === null) throw new AegisError("not_found", `${this.url} has no skill "${name.slug}"`);
    const { isMalwareBlocked = false, isSuspicious = false, reasonCodes = [] } = found.moderation ?? {};
    return {
      registry: this.url,
      slug: found.skill.slug,
      owner: found.owner?.handle ?? null,
      title: found.skill.displayName,
      summary: found.skill.summary,
      version: found.latestVersion?.version ?? null,
      updated_at: found.skill.updatedAt ?? null,
      os: found.metadata?.os ?? [],
      moderation: {
        verdict: isMalwareBlocked ? "malicious" : isSuspicious ? "suspicious" : "clean",
        reasons: reasonCodes,
      },
    };
  }

  async version(name: RegistryName, version: string, signal: AbortSignal): Promise<RegistryVersion> {
    const path = `skills/${encodeURIComponent(name.slug)}/versions/${encodeURIComponent(version)}`;
    const found = await this.#json(versionSchema, path, owned(name), signal);
    const files = found.version.files ?? [];
    return {
      version: found.version.version,
      files: files.map(({ path, sha256 }) => ({ path, sha256: sha256 ?? null })),
    };
  }

  /** Fetches one file, which is much cheaper for the registry than an archive. */
  async file(name: RegistryName, version: string, path: string, signal: AbortSignal): Promise<Buffer> {
    const query = { ...owned(name), path, version };
    return (await this.#get(`skills/${encodeURIComponent(name.slug)}/file`, query, limits.file, signal)).body;
  }

  async download(name: RegistryName, version: string, signal: AbortSignal): Promise<Download> {
    const query = { slug: name.slug, version, ...owned(name) };
    const { body, headers } = await this.#get("download", query, limits.archive, signal);
    if (!(headers["content-type"] ?? "").includes("json")) return { kind: "zip", bytes: body };
    const { repo, commit, path } = this.#parse(handOffSchema, body, "download");
    return { kind: "git", repo, commit, path: path ?? null };
  }

  async #json<T extends z.ZodType>(
    schema: T,
    path: string,
    query: Record<string, string>,
    signal: AbortSignal,
  ): Promise<z.output<T>> {
    return this.#parse(schema, (await this.#get(path, query, limits.json, signal)).body, path);
  }

  #parse<T extends z.ZodType>(schema: T, body: Buffer, path: string): z.output<T> {
    try {
      return schema.parse(JSON.parse(body.toString("utf8")));
    } catch (error) {
      throw new AegisError(
        "upstream",
        `${this.url} answered ${path} with something that does not belong to the v1 API`,
        {
          hint: "see `skills.registry` in the configuration",
          cause: error,
        },
      );
    }
  }

  /** Retries if the registry asks to wait, if it fails, and if the response was truncated. */
  async #get(
    path: string,
    query: Record<string, string>,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<FetchResponse> {
    const url = new URL(`${this.url}/api/v1/${path}`);
    url.search = new URLSearchParams(query).toString();
    for (let failures = 0, refusals = 0; ; ) {
      const answer = await this.#once(url, maxBytes, signal);
      if (!(answer instanceof FetchError) && answer.status < 300) return answer;
      const pause =
        !(answer instanceof FetchError) && answer.status === 429
          ? ++refusals < mostRefusals
            ? retryAfterMs(answer, this.#options.clock.now())
            : null
          : isPassing(answer)
            ? (pausesMs[failures++] ?? null)
            : null;
      if (pause === null || pause > longestPauseMs) throw this.#failure(answer, query.slug ?? null);
      await this.#options.clock.sleep(pause, signal);
    }
  }

  async #once(url: URL, maxBytes: number, signal: AbortSignal): Promise<FetchResponse | FetchError> {
    const { network } = this.#options;
    const token = this.#options.token();
    try {
      return await safeFetch(url, {
        maxBytes,
        timeoutMs,
        signal,
        trustedOrigins: [url.origin],
        headers: token === null ? {} : { authorization: `Bearer ${token}` },
        ...(network === undefined ? {} : { network }),
      });
    } catch (error) {
      if (error instanceof FetchError) return error;
      throw error;
    }
  }

  #failure(answer: FetchResponse | FetchError, slug: string | null): AegisError {
    if (answer instanceof FetchError) return asAegisError(answer);
    const said = answer.body.toString("utf8").replace(/\s+/g, " ").trim().slice(0, 200);
    const what = slug === null ? "" : ` for "${slug}"`;
    if (answer.status === 409)
      return new AegisError("conflict", `${this.url} knows several skills of that name: ${said}`, {
        hint: "name the owner too: @owner/slug",
      });
    const code = statusCodes[answer.status] ?? "upstream";
    const hint = answer.status === 404 ? "`aegis skill search <words>` looks for one" : undefined;
    return new AegisError(code, `${this.url} answered ${answer.status}${what}: ${said || "no reason given"}`, {
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

/** Compares a file with the registry's listing. Names must match exactly. */
export function checkListed(listed: readonly ListedFile[], file: string, bytes: Buffer): void {
  const entry = listed.find(({ path }) => path === file);
  if (entry === undefined)
    throw new AegisError("forbidden", `${file} was delivered, but the registry does not list it for this version`);
  if (entry.sha256 === null) return;
  const hash = createHash("sha256").update(bytes).digest("hex");
  if (hash !== entry.sha256.toLowerCase())
    throw new AegisError("forbidden", `${file} is not what the registry lists: expected ${entry.sha256}, got ${hash}`);
}

const statusCodes: Readonly<Record<number, ErrorCode>> = {
  401: "forbidden",
  403: "forbidden",
  404: "not_found",
  410: "closed",
  423: "forbidden",
  429: "too_many",
};

function owned({ owner }: RegistryName): Record<string, string> {
  return owner === null ? {} : { ownerHandle: owner };
}

function isPassing(answer: FetchResponse | FetchError): boolean {
  if (answer instanceof FetchError) return ["cut", "failed", "timeout"].includes(answer.problem);
  return [500, 502, 503, 504].includes(answer.status);
}

/** From `Retry-After` as seconds or a date; otherwise from the registry's rate-limit window. */
function retryAfterMs({ headers }: FetchResponse, now: number): number {
  const after = headers["retry-after"] ?? String(headers["ratelimit-reset"] ?? "1");
  const seconds = Number(after);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(after);
  return Number.isNaN(date) ? 1000 : Math.max(0, date - now);
}
