/** Fetches the files of a source into a folder, or returns the folder of a local source. */
import { copyFile, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SkillFinding } from "@aegis/contract/skill-install.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { type GitReference, gitFetch } from "@aegis/lib/git-fetch.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { extractZip } from "@aegis/lib/safe-extract.ts";
import { type Network, safeFetch } from "@aegis/lib/safe-fetch.ts";
import { listTree } from "@aegis/lib/safe-tree.ts";
import type { TreeLimits } from "@aegis/lib/tree-rules.ts";
import { type ClawHubClient, checkListed, type ListedFile } from "./clawhub.ts";
import { defaultGithubUrl, type PackageSource, type RegistrySource } from "./source.ts";

export type FetchDeps = {
  processes: Processes;
  clock: Clock;
  env: Environment;
  /** The base URL of `gh:`. */
  githubUrl: string;
  /** The packages bundled with Aegis; null if this kind has none. */
  bundledDir: string | null;
  /** Null if this kind has no such registry. */
  registry: ClawHubClient | null;
  network?: Network;
};

export type FetchedPackage = {
  /** The content of the source. */
  dir: string;
  /** The folder in it that the source names; null for the whole content. */
  path: string | null;
  /** The name of a package that does not name itself. */
  fallbackName: string;
  version: string | null;
  commit: string | null;
  /** Findings that are known before the scan. */
  findings: SkillFinding[];
};

/** For a repository or archive, which may contain other files than the package. */
const fetchLimits: Partial<TreeLimits> = { files: 5000, bytes: 100 << 20 };
const archiveBytes = 64 << 20;
const pageBytes = 256 << 10;
const timeoutMs = 120_000;

/** Throws `AegisError`, `GitError`, `FetchError` or `TreeRefused`. */
export async function fetchSource(
  source: PackageSource,
  into: string,
  deps: FetchDeps,
  signal: AbortSignal,
): Promise<FetchedPackage> {
  await mkdir(into, { recursive: true });
  switch (source.kind) {
    case "registry":
      if (deps.registry === null) break;
      return fromRegistry(source, into, { ...deps, registry: deps.registry }, signal);
    case "git":
      return fromGit(source, into, deps, signal);
    case "url":
      return fromUrl(source.url, into, deps, signal);
    case "path":
      return fromPath(source.path, into, signal);
    case "bundled":
      if (deps.bundledDir === null) break;
      return found(join(deps.bundledDir, source.name), source.name);
  }
  throw new AegisError("invalid", `"${source.text}" is not a source for this kind of package`);
}

function found(dir: string, fallbackName: string, more: Partial<FetchedPackage> = {}): FetchedPackage {
  return { dir, path: null, fallbackName, version: null, commit: null, findings: [], ...more };
}

async function fromRegistry(
  source: RegistrySource,
  into: string,
  deps: FetchDeps & { registry: ClawHubClient },
  signal: AbortSignal,
): Promise<FetchedPackage> {
  const { registry } = deps;
  const info = await registry.info(source, signal);
  const { verdict, reasons } = info.moderation;
  if (verdict === "malicious")
    throw new AegisError("forbidden", `${registry.url} classifies "${info.slug}" as malicious: ${reasons.join(", ")}`);
  const wanted = source.version ?? info.version;
  if (wanted === null) throw new AegisError("not_found", `${registry.url} has no version of "${info.slug}"`);
  const name = { owner: source.owner ?? info.owner, slug: info.slug };
  const { version, files } = await registry.version(name, wanted, signal);
  const findings = verdict === "suspicious" ? [moderated(reasons)] : [];
  if (files.length === 0) findings.push(unlisted());
  const fetched = found(into, info.slug, { version, findings });

  const [only] = files;
  if (only !== undefined && files.length === 1 && /^skills?\.md$/i.test(only.path)) {
    const bytes = await registry.file(name, version, only.path, signal);
    checkListed(files, only.path, bytes);
    await writeFile(join(into, only.path), bytes);
    return fetched;
  }
  const download = await registry.download(name, version, signal);
  if (download.kind === "git") {
    const { repo, commit, path } = download;
    const cloned = await fromGit({ url: `${deps.githubUrl}/${repo}.git`, ref: commit, path }, into, deps, signal);
    return { ...cloned, fallbackName: info.slug, version, findings };
  }
  await extractZip(download.bytes, into, { limits: fetchLimits, signal });
  await checkFiles(into, files);
  return fetched;
}

/** Requires that the received files match the listing exactly. */
async function checkFiles(folder: string, listed: readonly ListedFile[]): Promise<void> {
  // Archives contain a metadata file of the registry.
  if (!listed.some(({ path }) => path === "_meta.json")) await rm(join(folder, "_meta.json"), { force: true });
  if (listed.length === 0) return;
  const came = await listTree(folder);
  for (const file of came) checkListed(listed, file, await readFile(join(folder, file)));
  const missing = listed.find(({ path }) => !came.includes(path));
  if (missing !== undefined)
    throw new AegisError("forbidden", `${missing.path} is missing, though the registry lists it for this version`);
}

async function fromGit(
  { url, ref, path }: GitReference,
  into: string,
  { processes, clock, env, githubUrl, network }: FetchDeps,
  signal: AbortSignal,
): Promise<FetchedPackage> {
  const trustedOrigins = githubUrl === defaultGithubUrl ? [] : [new URL(githubUrl).origin];
  const more = network === undefined ? {} : { network };
  const { commit } = await gitFetch({ url, ref, into, processes, clock, env, signal, trustedOrigins, ...more });
  return found(into, basename(path ?? url.replace(/\.git$/, "")), { path, commit });
}

async function fromUrl(url: URL, into: string, { network }: FetchDeps, signal: AbortSignal): Promise<FetchedPackage> {
  const more = network === undefined ? {} : { network };
  const { body, status, headers } = await safeFetch(url, { maxBytes: archiveBytes, timeoutMs, signal, ...more });
  if (status !== 200) throw new AegisError(status === 404 ? "not_found" : "upstream", `${url.href} answered ${status}`);
  if (isZip(body)) await extractZip(body, into, { limits: fetchLimits, signal });
  else if (/html/.test(headers["content-type"] ?? "") || body.byteLength > pageBytes || body.includes(0))
    throw new AegisError("invalid", `${url.href} is neither a ZIP archive nor the page of a skill`, {
      hint: "for a repository write gh:owner/repo[@ref][#path] or git+https://…",
    });
  else await writeFile(join(into, "SKILL.md"), body);
  return found(into, nameOfUrl(url));
}

async function fromPath(path: string, into: string, signal: AbortSignal): Promise<FetchedPackage> {
  const info = await stat(path).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) throw new AegisError("not_found", `no file or folder ${path}`);
    throw error;
  });
  const name = basename(path).replace(/\.(?:zip|md)$/i, "");
  if (info.isDirectory()) return found(path, name);
  if (!info.isFile()) throw new AegisError("invalid", `${path} is neither a file nor a folder`);
  if (/\.zip$/i.test(path)) await extractZip(path, into, { limits: fetchLimits, signal });
  else if (!/\.md$/i.test(path) || info.size > pageBytes)
    throw new AegisError("invalid", `${path} is neither a folder, a ZIP archive nor the page of a skill`);
  else {
    await copyFile(path, join(into, "SKILL.md"));
    if (/^skills?\.md$/i.test(basename(path))) return found(into, basename(dirname(path)));
  }
  return found(into, name);
}

function isZip(bytes: Buffer): boolean {
  return bytes.subarray(0, 2).toString("latin1") === "PK";
}

/** `…/pdf/SKILL.md` and `…/pdf.zip` both become `pdf`. */
function nameOfUrl(url: URL): string {
  const parts = url.pathname.split("/").filter((part) => part !== "");
  const last = parts.at(-1) ?? url.hostname;
  return decodeURIComponent(/^skills?\.md$/i.test(last) ? (parts.at(-2) ?? url.hostname) : last).replace(
    /\.(?:zip|md)$/i,
    "",
  );
}

function moderated(reasons: readonly string[]): SkillFinding {
  const message = "the registry itself classifies it as suspicious";
  return {
    severity: "suspicious",
    rule: "registry.moderation",
    file: null,
    line: null,
    message,
    excerpt: reasons.join(", "),
  };
}

function unlisted(): SkillFinding {
  const message = "the registry lists no hashes of its files, so they could not be compared";
  return { severity: "note", rule: "registry.unlisted", file: null, line: null, message, excerpt: "" };
}
