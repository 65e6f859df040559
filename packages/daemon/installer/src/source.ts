/** Parses the source of a package as a person, an agent, a registry or the lockfile writes it. */
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { AegisError } from "@aegis/contract/errors.ts";
import { type GitReference, parseGitReference } from "@aegis/lib/git-fetch.ts";
import { errorText } from "@aegis/lib/log.ts";

export type PackageSource = {
  /** As written. */
  text: string;
} & (
  | { kind: "path"; path: string }
  | ({ kind: "git" } & GitReference)
  | { kind: "url"; url: URL }
  | ({ kind: "registry" } & RegistrySource)
  /** A plugin that is bundled with Aegis: the same on every machine. */
  | { kind: "bundled"; name: string }
);

/** A skill of ClawHub. */
export type RegistrySource = { owner: string | null; slug: string; version: string | null };

export type SourceContext = {
  /** The base of relative paths. */
  root: string;
  home: string;
  /** The base URL of `gh:`. */
  githubUrl: string;
  /** The accepted syntax, for error messages. */
  grammar: string;
};

export const defaultGithubUrl = "https://github.com";

const otherArchive = /\.(?:tar|tgz|tbz2?|txz|7z|rar|(?:tar\.)?(?:gz|bz2|xz|zst))(?:[?#].*)?$/i;
const bundledPattern = /^bundled:([a-z0-9][\w-]*)$/;
const registryPattern =
  /^(?:clawhub:)?(?:@([a-z0-9][a-z0-9._-]{0,63})\/)?([a-z0-9][a-z0-9._-]{0,99})(?:@([A-Za-z0-9][A-Za-z0-9.+-]{0,63}))?$/;

/** Throws `invalid` for text outside the grammar. */
export function parseSource(written: string, context: SourceContext): PackageSource {
  const text = written.trim();
  const [, bundled] = bundledPattern.exec(text) ?? [];
  if (bundled !== undefined) return { kind: "bundled", text, name: bundled };
  const git = gitSource(text, context);
  if (git !== null) return { kind: "git", text, ...git };
  refuseAddress(text, context);
  if (/^https?:\/\//i.test(text)) return urlSource(text);
  if (text.startsWith("file://")) return { kind: "path", text, path: fileOf(text) };
  if (isAbsolute(text)) return { kind: "path", text, path: text };
  if (/^~(?:\/|$)/.test(text)) return { kind: "path", text, path: join(context.home, text.slice(1)) };
  if (/^\.{1,2}(?:\/|$)/.test(text)) return { kind: "path", text, path: resolve(context.root, text) };
  const [, owner = null, slug, version = null] = registryPattern.exec(text) ?? [];
  if (slug === undefined)
    throw new AegisError("invalid", `"${shortened(text)}" is not a source to install from`, {
      hint: `expected ${context.grammar}`,
    });
  return { kind: "registry", text, owner, slug, version };
}

function gitSource(text: string, { githubUrl, grammar }: SourceContext): GitReference | null {
  try {
    return parseGitReference(text, githubUrl);
  } catch (error) {
    throw new AegisError("invalid", errorText(error), { hint: `expected ${grammar}`, cause: error });
  }
}

/** Throws `invalid` for the address of a repository that is written for git or a browser, and for archives but ZIP. */
function refuseAddress(text: string, { githubUrl, grammar }: SourceContext): void {
  if (!/^(?:[a-z][a-z0-9+.-]*:\/\/|[\w.-]+@[\w.-]+:)/i.test(text) || text.startsWith("file://")) return;
  if (otherArchive.test(text))
    throw new AegisError("invalid", `"${shortened(text)}" is an archive, but not a ZIP archive`, {
      hint: `unpack it and name its folder; or expected ${grammar}`,
    });
  const isHttp = /^https?:/i.test(text);
  if (isHttp && /\.git$/.test(text)) return;
  const address = text
    .replace(/^[\w.-]+@([\w.-]+):/, "https://$1/")
    .replace(/^(?:ssh|git|http):\/\/(?:[^/@]*@)?/, "https://");
  const base = `${githubUrl.replace(/\/$/, "")}/`;
  const [, repo] = address.startsWith(base)
    ? (/^([\w-]+\/[\w.-]+?)(?:\.git)?\/?$/.exec(address.slice(base.length)) ?? [])
    : [];
  if (isHttp && repo === undefined) return;
  throw new AegisError("invalid", `"${shortened(text)}" is a URL; a repository is named in another way`, {
    hint:
      repo !== undefined
        ? `write gh:${repo}`
        : address.startsWith("https://")
          ? `write git+${address}`
          : `expected ${grammar}`,
  });
}

function urlSource(text: string): PackageSource {
  if (!URL.canParse(text)) throw new AegisError("invalid", `"${shortened(text)}" is not a URL`);
  const url = new URL(text);
  if (url.pathname.endsWith(".git")) return { kind: "git", text, url: text, ref: null, path: null };
  return { kind: "url", text, url };
}

function fileOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw new AegisError("invalid", `"${url}" is not a folder: ${errorText(error)}`, {
      hint: "expected file:///folder",
    });
  }
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
