/**
 * Checks out one commit of a third-party git repository into a folder. Disables hooks, filters, submodules, prompts and
 * the user's git settings. Allows only HTTPS and local repositories; HTTPS uses a checked and pinned address.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { childEnv, type Environment } from "./child-env.ts";
import type { Clock } from "./clock.ts";
import { isErrno } from "./files.ts";
import { ownConsent } from "./own-consent.ts";
import type { Processes } from "./process.ts";
import { judgedAddresses, type Network } from "./safe-fetch.ts";

export type GitFetchOptions = {
  /** `https://…` or `file://…`. */
  url: string;
  /** A branch, a tag or a commit; null for the default branch. */
  ref: string | null;
  /** An empty folder. */
  into: string;
  processes: Processes;
  clock: Clock;
  /** The daemon's environment. Only the variables that every program needs are passed on. */
  env: Environment;
  signal: AbortSignal;
  timeoutMs?: number;
  /** Limit for the received objects, in bytes. */
  maxBytes?: number;
  /** Origins that the user configured. */
  trustedOrigins?: readonly string[];
  network?: Network;
};

export type GitFetchProblem = "refused" | "no_git" | "no_ref" | "too_large" | "timeout" | "failed";

export class GitError extends Error {
  override readonly name = "GitError";
  readonly problem: GitFetchProblem;

  constructor(problem: GitFetchProblem, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.problem = problem;
  }
}

/**
 * Returns the commit that was checked out. Throws `GitError`, `FetchError` for a forbidden address, or the signal's
 * reason.
 */
export async function gitFetch(options: GitFetchOptions): Promise<{ commit: string }> {
  const { ref } = options;
  if (ref !== null && !isSafeRef(ref)) throw new GitError("refused", `"${ref}" is not a valid branch, tag or commit`);
  const git = await prepare(options);
  await git("init", "--quiet", ".");
  const commit = await fetchCommit(git, options);
  await git("checkout", "--quiet", "--detach", "--force", commit);
  return { commit };
}

export type GitReference = { url: string; ref: string | null; path: string | null };

/**
 * Parses `gh:owner/repo[@ref][#path]` (relative to `base`), `git+https://…[@ref][#path]` and `git+file:///…`. Returns
 * null for any other text. Throws `GitError` if the reference is malformed.
 */
export function parseGitReference(text: string, base = "https://github.com"): GitReference | null {
  const scheme = /^(gh:|git\+)/.exec(text)?.[0];
  if (scheme === undefined) return null;
  const [place = "", ...fragment] = text.slice(scheme.length).split("#");
  const path = fragment.length === 0 ? null : safeSubPath(fragment.join("#"));
  const at = scheme === "gh:" ? place.indexOf("@") : place.lastIndexOf("@");
  // An `@` before the path belongs to the user part of the URL.
  const hasRef = at !== -1 && (scheme === "gh:" || at > place.indexOf("/", place.indexOf("://") + 3));
  const [where, ref] = hasRef ? [place.slice(0, at), place.slice(at + 1)] : [place, null];
  if (ref !== null && !isSafeRef(ref)) throw new GitError("refused", `"${ref}" is not a valid branch, tag or commit`);
  if (scheme === "git+") return { url: gitUrl(where), ref, path };
  const repo = /^([A-Za-z0-9][A-Za-z0-9-]*)\/([A-Za-z0-9._-]+?)(?:\.git)?$/.exec(where);
  if (repo === null || /^\.+$/.test(repo[2] ?? ""))
    throw new GitError("refused", `"${text}" is not gh:owner/repo[@ref][#path]`);
  return { url: `${base.replace(/\/$/, "")}/${repo[1]}/${repo[2]}.git`, ref, path };
}

type Git = (...args: string[]) => Promise<string>;

const fetchFlags = [
  "--quiet",
  "--no-tags",
  "--no-recurse-submodules",
  "--no-auto-maintenance",
  "--no-write-commit-graph",
];
const defaultTimeoutMs = 120_000;
const defaultMaxBytes = 256 << 20;
const measureEveryMs = 500;

async function fetchCommit(git: Git, { url, ref }: GitFetchOptions): Promise<string> {
  try {
    await git("fetch", ...fetchFlags, "--depth=1", "--", url, ref ?? "HEAD");
    return await commitOf(git, "FETCH_HEAD");
  } catch (error) {
    // Some servers do not serve a commit by its hash, and none serves it by an abbreviated hash.
    if (ref === null || !looksLikeCommit(ref) || !isMissing(error)) throw error;
    await git(
      "fetch",
      ...fetchFlags,
      "--",
      url,
      "+refs/heads/*:refs/fetched/heads/*",
      "+refs/tags/*:refs/fetched/tags/*",
    );
    return await commitOf(git, ref);
  }
}

async function prepare(options: GitFetchOptions): Promise<Git> {
  const url = new URL(gitUrl(options.url));
  const pins = url.protocol === "file:" ? [] : await pinsFor(url, options);
  const deadline = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
  const signal = AbortSignal.any([options.signal, deadline]);
  return async (...args) => {
    try {
      return await run(["git", ...settings(pins), ...args], options, signal);
    } catch (error) {
      options.signal.throwIfAborted();
      if (deadline.aborted) throw new GitError("timeout", `${options.url}: git took too long`, error);
      throw error;
    }
  };
}

async function pinsFor(url: URL, options: GitFetchOptions): Promise<string[]> {
  const addresses = await judgedAddresses(url, options);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  if (addresses.length === 0) return [];
  const list = addresses.map(({ address, family }) => (family === 6 ? `[${address}]` : address));
  return [`${url.hostname}:${port}:${list.join(",")}`];
}

/** Passed on every call, because the repository's own config is not trusted. */
function settings(pins: readonly string[]): string[] {
  const pairs = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "credential.helper=",
    "http.followRedirects=false",
    "submodule.recurse=false",
    // Keeps all objects in packs, so that `watchSize` can measure them.
    "fetch.unpackLimit=1",
    "gc.auto=0",
    "init.defaultBranch=main",
    "advice.detachedHead=false",
    ...pins.map((pin) => `http.curloptResolve=${pin}`),
  ];
  return pairs.flatMap((pair) => ["-c", pair]);
}

async function run(argv: [string, ...string[]], options: GitFetchOptions, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const child = await options.processes
    .start({ argv, cwd: options.into, env: gitEnv(options) }, ownConsent("git"))
    .catch((error: unknown) => {
      if (isErrno(error, "ENOENT")) throw new GitError("no_git", "git is not installed, or not on PATH", error);
      throw error;
    });
  const done = new AbortController();
  const onAbort = () => void child.stop();
  signal.addEventListener("abort", onAbort, { once: true });
  const measured = watchSize(options, done.signal, () => void child.stop());
  try {
    child.stdin.end();
    const chunks: Uint8Array[] = [];
    for await (const chunk of child.stdout) chunks.push(chunk);
    const { code } = await child.exited;
    signal.throwIfAborted();
    done.abort();
    if (await measured) throw new GitError("too_large", `${options.url}: more than ${maxBytesOf(options)} bytes`);
    if (code !== 0) throw gitFailure(options, child.stderrTail());
    return Buffer.concat(chunks).toString().trim();
  } finally {
    done.abort();
    signal.removeEventListener("abort", onAbort);
    await child.stop();
  }
}

/** Calls `stop` and returns true if the received data exceeds the limit. Git has no such limit. */
async function watchSize(options: GitFetchOptions, signal: AbortSignal, stop: () => void): Promise<boolean> {
  const packs = join(options.into, ".git", "objects", "pack");
  for (;;) {
    if ((await folderSize(packs)) > maxBytesOf(options)) {
      stop();
      return true;
    }
    if (signal.aborted) return false;
    await options.clock.sleep(measureEveryMs, signal).catch(() => {});
  }
}

async function folderSize(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  // A file may be renamed between `readdir` and `stat`.
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        (file) => file.size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function gitEnv(options: GitFetchOptions): Record<string, string> {
  const trusted = (options.trustedOrigins ?? []).some((origin) => origin.startsWith("http://"));
  return childEnv(options.env, [], {
    // Prevents git from reading the user's .netrc and settings.
    HOME: options.into,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    GIT_ALLOW_PROTOCOL: trusted ? "https:file:http" : "https:file",
    GIT_CEILING_DIRECTORIES: options.into,
    GIT_LFS_SKIP_SMUDGE: "1",
    LC_ALL: "C",
  });
}

function maxBytesOf({ maxBytes = defaultMaxBytes }: GitFetchOptions): number {
  return maxBytes;
}

function gitFailure(options: GitFetchOptions, stderr: string): GitError {
  const text = stderr.trim().split("\n").slice(-3).join("; ");
  const missing = /couldn't find remote ref|not our ref|unknown revision|bad revision|ambiguous argument/.test(stderr);
  const what = missing && options.ref !== null ? `no branch, tag or commit "${options.ref}"` : text || "git failed";
  return new GitError(missing ? "no_ref" : "failed", `${options.url}: ${what}`);
}

async function commitOf(git: Git, name: string): Promise<string> {
  return git("rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`);
}

function isMissing(error: unknown): boolean {
  return error instanceof GitError && (error.problem === "no_ref" || error.problem === "failed");
}

function gitUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["https:", "http:", "file:"].includes(url.protocol))
    throw new GitError("refused", `"${text}" is not a supported git URL: expected https://… or file://…`);
  if (url.username !== "" || url.password !== "")
    throw new GitError("refused", "a git URL with a user name or password is not allowed");
  return text;
}

function isSafeRef(ref: string): boolean {
  return (
    /^[A-Za-z0-9_][A-Za-z0-9._/@+-]*$/.test(ref) && !ref.includes("..") && !ref.includes("@{") && ref.length <= 200
  );
}

function looksLikeCommit(ref: string): boolean {
  return /^[0-9a-f]{7,64}$/.test(ref);
}

function safeSubPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length === 0 || path.startsWith("/") || parts.includes("..") || parts.includes(".git"))
    throw new GitError("refused", `"${path}" is not a folder inside a repository`);
  return parts.join("/");
}
