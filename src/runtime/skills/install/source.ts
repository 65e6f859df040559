/** Where a skill is to come from, as a person or an agent writes it. */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { AegisError } from "../../../contract/errors.ts";
import { type GitReference, parseGitReference } from "../../../lib/git-fetch.ts";

export type SkillSourceSpec =
  | { kind: "registry"; owner: string | null; slug: string; version: string | null }
  | ({ kind: "git" } & GitReference)
  | { kind: "url"; url: URL }
  | { kind: "path"; path: string };

export type SourceContext = {
  /** What relative paths start from. */
  root: string;
  home: string;
  /** What `gh:` stands for. */
  gitBase: string;
};

const registryPattern =
  /^(?:clawhub:)?(?:@([a-z0-9][a-z0-9._-]{0,63})\/)?([a-z0-9][a-z0-9._-]{0,99})(?:@([A-Za-z0-9][A-Za-z0-9.+-]{0,63}))?$/;

/** Throws `invalid` for text that is none of them. */
export function parseSource(text: string, context: SourceContext): SkillSourceSpec {
  const written = text.trim();
  const git = gitSource(written, context);
  if (git !== null) return { kind: "git", ...git };
  if (/^https?:\/\//i.test(written)) return urlSource(written);
  if (written.startsWith("file://")) return { kind: "path", path: fileURLToPath(written) };
  if (isAbsolute(written)) return { kind: "path", path: written };
  if (/^~(?:\/|$)/.test(written)) return { kind: "path", path: join(context.home || homedir(), written.slice(1)) };
  if (/^\.{1,2}(?:\/|$)/.test(written)) return { kind: "path", path: resolve(context.root, written) };
  const registry = registryPattern.exec(written);
  if (registry === null)
    throw new AegisError("invalid", `"${shortened(written)}" names no place to install a skill from`, {
      hint: "a name in the registry (slug, @owner/slug, slug@version), gh:owner/repo[@ref][#path], git+https://…, https://…, ./folder or /folder",
    });
  return { kind: "registry", owner: registry[1] ?? null, slug: registry[2] ?? "", version: registry[3] ?? null };
}

/** The same place in the words that go into the lockfile. */
export function sourceText(source: SkillSourceSpec, written: string): string {
  if (source.kind === "path") return source.path;
  if (source.kind !== "registry") return written.trim();
  const owner = source.owner === null ? "" : `@${source.owner}/`;
  return `clawhub:${owner}${source.slug}${source.version === null ? "" : `@${source.version}`}`;
}

function gitSource(written: string, { gitBase }: SourceContext): GitReference | null {
  try {
    return parseGitReference(written, gitBase);
  } catch (error) {
    throw new AegisError("invalid", error instanceof Error ? error.message : "no git reference", { cause: error });
  }
}

function urlSource(written: string): SkillSourceSpec {
  if (!URL.canParse(written)) throw new AegisError("invalid", `"${shortened(written)}" is no URL`);
  const url = new URL(written);
  if (url.pathname.endsWith(".git")) return { kind: "git", url: written, ref: null, path: null };
  return { kind: "url", url };
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
