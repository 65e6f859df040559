/** Skills as packages: finds the requested one among the files of a source. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { contentPath } from "@aegis/lib/files.ts";
import { nearest } from "@aegis/lib/nearest.ts";
import { treeHash } from "@aegis/lib/safe-tree.ts";
import { Slices } from "@aegis/lib/slices.ts";
import { safeParts, TreeRefused } from "@aegis/lib/tree-rules.ts";
import { parseSkill } from "@aegis/skills/parse.ts";
import { maxPageBytes, readPage } from "@aegis/skills/read-page.ts";
import { scanLimits, scanRoots } from "@aegis/skills/scan.ts";
import { commandOf, type SkillOutline, skillKey } from "@aegis/skills/skill.ts";
import type { FetchedPackage } from "../fetch.ts";
import type { Kind, WantedPackage } from "../kind.ts";
import { asAegisError } from "../problems.ts";
import { type PackageSource, parseSource } from "../source.ts";

/** Files that operating systems or languages create: not copied, and not an edit if they appear. */
const ignoredNames: readonly string[] = [".git", ".DS_Store", "__MACOSX", "__pycache__"];

const grammar =
  "a name in the registry (slug, @owner/slug, slug@version), gh:owner/repo[@ref][#path], git+https://…, https://…, ./folder or /folder";

export const skillKind: Kind<SkillOutline> = {
  name: "skill",
  limits: { files: 1000, bytes: 30 << 20, fileBytes: 5 << 20 },
  skip: ignoredNames,
  parse: (text, context) => parseSource(text, { ...context, grammar }),
  async find(fetched, { source, name }, signal) {
    const { skill, folder } = await pickSkill(await folderOf(fetched, source), fetched.fallbackName, name, signal);
    return { folder, inspect: async () => skill };
  },
  hash: (dir) => treeHash(dir, { skip: ignoredNames }),
  problem: asAegisError,
};

async function folderOf({ dir, path }: FetchedPackage, source: PackageSource): Promise<string> {
  const folder = path === null ? dir : await contentPath(dir, path);
  if (folder !== null && (await stat(folder).catch(() => null))?.isDirectory()) return folder;
  throw new AegisError("not_found", `${source.text} has no folder "${path}"`);
}

/** Throws `not_found` if there is none with that name, and `conflict` if there are several and none is named. */
async function pickSkill(
  folder: string,
  fallbackName: string,
  wanted: WantedPackage["name"],
  signal: AbortSignal,
): Promise<{ skill: SkillOutline; folder: string }> {
  const root = { source: "aegis", folder, flat: false, headerless: false } as const;
  const { pages } = await scanRoots([root], { ...scanLimits, pages: mostPages }, new Slices(), signal);
  const candidates: Candidate[] = [];
  for (const page of pages) {
    // A link out of the source would include files that the source does not offer.
    const inside = page.folder === null ? null : await contentPath(folder, page.folder);
    if (page.folder === null || inside === null || (await contentPath(folder, page.file)) === null) continue;
    const name = page.folder === folder ? fallbackName : basename(page.folder);
    candidates.push({ file: page.file, folder: inside, name });
  }
  if (candidates.length === 0)
    throw new AegisError("not_found", "there is no SKILL.md in it", {
      hint: "a skill is a folder with a SKILL.md; name the folder if it is further down",
    });
  const named = candidates.map((candidate) => ({ ...candidate, ...read(candidate) }));
  const chosen = wanted === null ? named : named.filter((one) => isCalled(one, wanted));
  const [first, ...others] = chosen;
  if (first === undefined) throw noneCalled(wanted ?? "", named.map(labelOf));
  if (others.length > 0) throw severalCalled(named.map(labelOf));
  if (first.skill === null) throw new AegisError("invalid", first.problem);
  return { skill: first.skill, folder: first.folder };
}

/** The folder name of a skill: its name, reduced to characters that every file system supports. */
export function folderName(skill: SkillOutline): string {
  const name = commandOf(skill.name).replaceAll(":", "-");
  try {
    if (name !== "" && safeParts(name).length === 1 && !name.startsWith(".")) return name;
  } catch (error) {
    if (!(error instanceof TreeRefused)) throw error;
  }
  throw new AegisError("invalid", `"${skill.name}" cannot be the name of a folder`);
}

type Candidate = { file: string; folder: string; name: string };
type Read = { skill: SkillOutline | null; problem: string };

const mostPages = 1000;

function read({ file, folder, name }: Candidate): Read {
  const { text, cut } = readPage(file, maxPageBytes);
  const label = basename(file);
  if (cut > 0) return { skill: null, problem: `${label} is longer than ${maxPageBytes} bytes` };
  const origin = {
    source: "aegis",
    plugin: null,
    file,
    folder,
    text: null,
    fallbackName: name,
    headerless: false,
  } as const;
  const { skill, diagnostics } = parseSkill(text, origin);
  const [error] = diagnostics.filter(({ level }) => level === "error");
  const line = error?.line == null ? "" : `:${error.line}`;
  return { skill, problem: `${label}${line} ${error?.message ?? "is no skill"}` };
}

function isCalled({ skill, name }: Candidate & Read, wanted: string): boolean {
  const key = skillKey(wanted);
  return skillKey(name) === key || (skill !== null && skillKey(skill.name) === key);
}

function labelOf({ skill, name }: Candidate & Read): string {
  return skill?.name ?? name;
}

function noneCalled(wanted: string, names: readonly string[]): AegisError {
  const near = nearest(wanted, names);
  return new AegisError(
    "not_found",
    `it contains no skill "${wanted}"${near === null ? "" : ` (did you mean "${near}"?)`}`,
    {
      hint: listed(names),
    },
  );
}

function severalCalled(names: readonly string[]): AegisError {
  return new AegisError("conflict", `it contains ${names.length} skills: name one`, { hint: listed(names) });
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 20).join(", ");
  return names.length > 20 ? `it contains ${shown} and ${names.length - 20} more` : `it contains ${shown}`;
}
