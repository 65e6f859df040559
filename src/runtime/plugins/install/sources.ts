/** Where a plugin comes from, by the words of `--from`, and how its files get into a folder of ours. */
import { mkdir, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AegisError } from "../../../contract/errors.ts";
import type { Environment } from "../../../lib/child-env.ts";
import type { Clock } from "../../../lib/clock.ts";
import { isErrno } from "../../../lib/files.ts";
import { GitError, gitFetch, parseGitReference } from "../../../lib/git-fetch.ts";
import { errorText } from "../../../lib/log.ts";
import type { Processes } from "../../../lib/process.ts";
import { FetchError } from "../../../lib/safe-fetch.ts";
import { copyTree } from "../../../lib/safe-tree.ts";
import { type TreeLimits, TreeRefused } from "../../../lib/tree-rules.ts";

export type Source =
  | {
      kind: "git";
      text: string;
      url: string;
      ref: string | null;
      path: string | null;
    }
  | { kind: "folder"; text: string; path: string }
  /** One of those that come with Aegis: the same on every machine, wherever Aegis is installed. */
  | { kind: "bundled"; text: string; name: string };

export type SourceDeps = {
  processes: Processes;
  clock: Clock;
  env: Environment;
  signal: AbortSignal;
  /** What `gh:` stands for. */
  githubUrl: string;
  /** The plugins that come with Aegis. */
  bundledDir: string;
  limits?: Partial<TreeLimits>;
};

/** More is no plugin. */
export const pluginLimits: TreeLimits = { files: 20_000, bytes: 200 << 20, fileBytes: 50 << 20, depth: 24 };
/** Never part of a plugin, whatever folder it was written in. */
const skipped: readonly string[] = [".git", ".DS_Store"];
export const bundledPrefix = "bundled:";
const usualFolder = "plugins";
const usualBranch = "main";
const grammar = "gh:owner/repo[@ref][#path], git+https://…[@ref][#path], file:///folder, or /folder";

/** Throws `invalid` for words that are none of the grammar's. */
export function parseSource(text: string, githubUrl: string): Source {
  if (text.startsWith(bundledPrefix)) return { kind: "bundled", text, name: text.slice(bundledPrefix.length) };
  if (text.startsWith("file://")) return { kind: "folder", text, path: folderOf(text) };
  if (isAbsolute(text)) return { kind: "folder", text, path: text };
  try {
    const git = parseGitReference(text, githubUrl);
    if (git === null)
      throw new AegisError("invalid", `"${text}" is no source of plugins`, { hint: `expected ${grammar}` });
    const ref = git.ref ?? (text.startsWith("gh:") ? usualBranch : null);
    return { kind: "git", text, url: git.url, ref, path: git.path };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    throw new AegisError("invalid", error.message, { hint: `expected ${grammar}`, cause: error });
  }
}

export type Fetched = {
  /** What the source holds, as it was fetched. */
  dir: string;
  commit: string | null;
};

/** Makes what a source holds readable at a folder. A local one is read where it is; a git one is fetched `into`. */
export async function openSource(source: Source, into: string, deps: SourceDeps): Promise<Fetched> {
  if (source.kind === "bundled") return { dir: join(deps.bundledDir, source.name), commit: null };
  if (source.kind === "folder") return { dir: source.path, commit: null };
  await mkdir(into);
  const { processes, clock, env, signal } = deps;
  const trustedOrigins = [new URL(deps.githubUrl).origin];
  try {
    const { commit } = await gitFetch({
      url: source.url,
      ref: source.ref,
      into,
      processes,
      clock,
      env,
      signal,
      trustedOrigins,
    });
    return { dir: into, commit };
  } catch (error) {
    if (!(error instanceof GitError || error instanceof FetchError)) throw error;
    throw new AegisError("unavailable", `${source.text} could not be fetched: ${error.message}`, {
      ...(source.ref === usualBranch && error instanceof GitError && error.problem === "no_ref"
        ? { hint: `the branch is "${usualBranch}" unless the source says another: ${source.text}@<branch>` }
        : {}),
      cause: error,
    });
  }
}

/** The folder of one plugin in what a source holds. Throws `not_found`. */
export async function pluginFolder(source: Source, fetched: Fetched, name: string): Promise<string> {
  const { dir } = fetched;
  const named = source.kind === "git" ? source.path : null;
  const places =
    named !== null
      ? [named, `${named}/${name}`]
      : source.kind === "git"
        ? [`${usualFolder}/${name}`, "."]
        : [".", name];
  for (const place of places) if (await hasManifest(join(dir, place))) return join(dir, place);
  throw new AegisError("not_found", `no plugin "${name}" at ${source.text}`, {
    hint: `looked for a manifest (${manifests.join(", ")}) in ${places.map((place) => (place === "." ? "its top folder" : place)).join(" and ")}`,
  });
}

/** A copy that holds only plain files inside itself. Throws `invalid` for a tree that is not to be had. */
export async function copyPlugin(from: string, to: string, deps: SourceDeps): Promise<void> {
  await mkdir(to);
  try {
    await copyTree(from, to, { limits: { ...pluginLimits, ...deps.limits }, skip: skipped, signal: deps.signal });
  } catch (error) {
    if (error instanceof TreeRefused)
      throw new AegisError("invalid", `the plugin's files are refused: ${error.message}`, { cause: error });
    if (isErrno(error, "ENOENT", "ENOTDIR"))
      throw new AegisError("not_found", `no folder ${from}: ${errorText(error)}`, { cause: error });
    throw error;
  }
}

export const manifests: readonly string[] = ["plugin.toml", "plugin.json", ".claude-plugin/plugin.json"];

export async function hasManifest(dir: string): Promise<boolean> {
  const found = await Promise.all(
    manifests.map((name) =>
      stat(join(dir, name)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

function folderOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw new AegisError("invalid", `"${url}" is no folder: ${errorText(error)}`, { hint: "expected file:///folder" });
  }
}
