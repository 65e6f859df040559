/** Brings the files of a source into a folder of ours, or says where they are already. */
import { copyFile, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AegisError } from "../../../contract/errors.ts";
import type { SkillFinding } from "../../../contract/skill-install.ts";
import type { Environment } from "../../../lib/child-env.ts";
import type { Clock } from "../../../lib/clock.ts";
import { containedPath, isErrno } from "../../../lib/files.ts";
import { type GitReference, gitFetch } from "../../../lib/git-fetch.ts";
import type { Processes } from "../../../lib/process.ts";
import { extractZip } from "../../../lib/safe-extract.ts";
import { type Network, safeFetch } from "../../../lib/safe-fetch.ts";
import { listTree } from "../../../lib/safe-tree.ts";
import type { TreeLimits } from "../../../lib/tree-rules.ts";
import { checkListed, type ListedFile, type Registry, type RegistryName } from "./clawhub.ts";
import type { SkillSourceSpec } from "./source.ts";

export type MaterialOptions = {
  registry: Registry;
  processes: Processes;
  clock: Clock;
  env: Environment;
  /** What `gh:` stands for. */
  gitBase: string;
  network?: Network;
};

export type Material = {
  folder: string;
  /** The skill's name when its page gives none. */
  fallbackName: string;
  version: string | null;
  commit: string | null;
  /** What is known about it before anybody looked. */
  findings: SkillFinding[];
};

/** Of a repository or archive, which may hold more than the one skill. */
export const materialLimits: Partial<TreeLimits> = { files: 5000, bytes: 100 << 20 };
const archiveBytes = 64 << 20;
const pageBytes = 256 << 10;
const timeoutMs = 120_000;

export async function fetchMaterial(
  source: SkillSourceSpec,
  into: string,
  options: MaterialOptions,
  signal: AbortSignal,
): Promise<Material> {
  await mkdir(into, { recursive: true });
  switch (source.kind) {
    case "registry":
      return fromRegistry(source, into, options, signal);
    case "git":
      return fromGit(source, into, options, signal);
    case "url":
      return fromUrl(source.url, into, options, signal);
    case "path":
      return fromPath(source.path, into, signal);
  }
}

async function fromRegistry(
  source: RegistryName & { version: string | null },
  into: string,
  options: MaterialOptions,
  signal: AbortSignal,
): Promise<Material> {
  const { registry } = options;
  const info = await registry.info(source, signal);
  const { verdict, reasons } = info.moderation;
  if (verdict === "malicious")
    throw new AegisError("forbidden", `${registry.url} holds "${info.slug}" to be malicious: ${reasons.join(", ")}`);
  const wanted = source.version ?? info.version;
  if (wanted === null) throw new AegisError("not_found", `${registry.url} has no version of "${info.slug}"`);
  const name = { owner: source.owner ?? info.owner, slug: info.slug };
  const { version, files } = await registry.version(name, wanted, signal);
  const findings = verdict === "suspicious" ? [moderated(reasons)] : [];
  if (files.length === 0) findings.push(unlisted());
  const material = { folder: into, fallbackName: info.slug, version, commit: null, findings };

  const [only] = files;
  if (only !== undefined && files.length === 1 && /^skills?\.md$/i.test(only.path)) {
    const bytes = await registry.file(name, version, only.path, signal);
    checkListed(files, only.path, bytes);
    await writeFile(join(into, only.path), bytes);
    return material;
  }
  const download = await registry.download(name, version, signal);
  if (download.kind === "git") {
    const { repo, commit, path } = download;
    const url = `${options.gitBase}/${repo}.git`;
    const cloned = await fromGit({ url, ref: commit, path }, into, options, signal);
    return { ...cloned, fallbackName: info.slug, version, findings };
  }
  await extractZip(download.bytes, into, { limits: materialLimits, signal });
  await checkFiles(into, files);
  return material;
}

/** Everything that came must be listed, and everything listed must have come. */
async function checkFiles(folder: string, listed: readonly ListedFile[]): Promise<void> {
  // A note of the registry itself, in archives only.
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
  { processes, clock, env, gitBase, network }: MaterialOptions,
  signal: AbortSignal,
): Promise<Material> {
  const trustedOrigins = gitBase === defaultGitBase ? [] : [new URL(gitBase).origin];
  const more = network === undefined ? {} : { network };
  const { commit } = await gitFetch({ url, ref, into, processes, clock, env, signal, trustedOrigins, ...more });
  const folder = path === null ? into : await containedPath(into, path);
  const isFolder = folder !== null && (await stat(folder).catch(() => null))?.isDirectory();
  if (folder === null || isFolder !== true) throw new AegisError("not_found", `${url} has no folder "${path}"`);
  return { folder, fallbackName: basename(path ?? url.replace(/\.git$/, "")), version: null, commit, findings: [] };
}

async function fromUrl(url: URL, into: string, { network }: MaterialOptions, signal: AbortSignal): Promise<Material> {
  const more = network === undefined ? {} : { network };
  const { body, status, headers } = await safeFetch(url, { maxBytes: archiveBytes, timeoutMs, signal, ...more });
  if (status !== 200) throw new AegisError(status === 404 ? "not_found" : "upstream", `${url.href} answered ${status}`);
  const material = { folder: into, fallbackName: nameOfUrl(url), version: null, commit: null, findings: [] };
  if (isZip(body)) await extractZip(body, into, { limits: materialLimits, signal });
  else if (/html/.test(headers["content-type"] ?? "") || body.byteLength > pageBytes || body.includes(0))
    throw new AegisError("invalid", `${url.href} is neither a ZIP archive nor the page of a skill`, {
      hint: "for a repository write gh:owner/repo[@ref][#path] or git+https://…",
    });
  else await writeFile(join(into, "SKILL.md"), body);
  return material;
}

async function fromPath(path: string, into: string, signal: AbortSignal): Promise<Material> {
  const info = await stat(path).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) throw new AegisError("not_found", `no file or folder ${path}`);
    throw error;
  });
  const material = {
    folder: into,
    fallbackName: basename(path).replace(/\.(?:zip|md)$/i, ""),
    version: null,
    commit: null,
    findings: [],
  };
  if (info.isDirectory()) return { ...material, folder: path };
  if (!info.isFile()) throw new AegisError("invalid", `${path} is neither a file nor a folder`);
  if (/\.zip$/i.test(path)) await extractZip(path, into, { limits: materialLimits, signal });
  else if (!/\.md$/i.test(path) || info.size > pageBytes)
    throw new AegisError("invalid", `${path} is neither a folder, a ZIP archive nor the page of a skill`);
  else {
    await copyFile(path, join(into, "SKILL.md"));
    if (/^skills?\.md$/i.test(basename(path))) return { ...material, fallbackName: basename(dirname(path)) };
  }
  return material;
}

export const defaultGitBase = "https://github.com";

function isZip(bytes: Buffer): boolean {
  return bytes.subarray(0, 2).toString("latin1") === "PK";
}

/** `…/pdf/SKILL.md` and `…/pdf.zip` are both about `pdf`. */
function nameOfUrl(url: URL): string {
  const parts = url.pathname.split("/").filter((part) => part !== "");
  const last = parts.at(-1) ?? url.hostname;
  return decodeURIComponent(/^skills?\.md$/i.test(last) ? (parts.at(-2) ?? url.hostname) : last).replace(
    /\.(?:zip|md)$/i,
    "",
  );
}

function moderated(reasons: readonly string[]): SkillFinding {
  const message = "the registry itself holds it to be suspicious";
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
