/** Validates and creates skill pages without a daemon. */
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SkillDiagnostic } from "@aegis/contract/skill.ts";
import { assetPath } from "@aegis/lib/assets.ts";
import { containedPath, isErrno } from "@aegis/lib/files.ts";
import { writeFrontmatter } from "@aegis/lib/frontmatter.ts";
import { SkillLibrary } from "@aegis/skills/library.ts";
import { parseSkill } from "@aegis/skills/parse.ts";
import { type SkillRoot, skillRoots } from "@aegis/skills/places.ts";

export type SkillProject = { root: string; home: string };

/** The name rule of the Agent Skills format. */
const namePattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const nameLength = 64;
const descriptionLength = 1024;

export type ValidatedSkills = { files: number; diagnostics: SkillDiagnostic[] };

/** Validates all skills of the project, or those at `paths`. Throws `not_found` for a path that does not exist. */
export async function validateSkills(project: SkillProject, paths: readonly string[]): Promise<ValidatedSkills> {
  const roots = paths.length === 0 ? projectRoots(project) : await Promise.all(paths.map(rootAt));
  const library = new SkillLibrary({ roots: () => ({ above: roots, below: [] }), now: Date.now });
  const { skills, hidden, diagnostics } = await library.refresh(new AbortController().signal);
  const files = skills.length + [...hidden.values()].flat().length;
  if (paths.length > 0 && files === 0 && diagnostics.length === 0)
    throw new AegisError("not_found", `no skill at ${paths.join(", ")}`, {
      hint: "expected a SKILL.md, or a folder with one",
    });
  // Two files that were both named explicitly do not conflict.
  const told = diagnostics.filter((one) => paths.length === 0 || one.code !== "collision");
  return { files, diagnostics: [...told, ...skills.flatMap(({ name, file }) => nameRemarks(name, file))] };
}

/** Returns the file. Throws `conflict` if the skill exists and `invalid` for an invalid name. */
export async function createSkill(
  { root, home }: SkillProject,
  skill: { name: string; description: string; body: string; user: boolean },
): Promise<string> {
  const { name, body } = skill;
  const description = skill.description.replace(/\s+/g, " ").trim();
  if (!namePattern.test(name) || name.length > nameLength)
    throw new AegisError("invalid", `"${name.slice(0, 80)}" is not a valid skill name`, {
      hint: `expected lower-case letters and digits joined by -, at most ${nameLength}`,
    });
  if (description === "" || description.length > descriptionLength)
    throw new AegisError("invalid", `expected a description of at most ${descriptionLength} characters`);
  const base = skill.user ? home : root;
  const folder = join(base, ".aegis", "skills", name);
  await mkdir(dirname(folder), { recursive: true });
  if ((await containedPath(base, join(".aegis", "skills", name))) === null)
    throw new AegisError("invalid", `${dirname(folder)} leads out of ${base}`);
  const text = writeFrontmatter({ name, description }, `# ${name}\n\n${body.trim()}`);
  const origin = { source: "aegis", plugin: null, file: null, folder: null, text } as const;
  const { diagnostics } = parseSkill(text, { ...origin, fallbackName: name, headerless: false });
  const [fault] = diagnostics;
  if (fault !== undefined) throw new AegisError("invalid", fault.message);
  return write(folder, text, name);
}

async function write(folder: string, text: string, name: string): Promise<string> {
  const file = join(folder, "SKILL.md");
  try {
    await mkdir(folder);
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
    throw new AegisError("conflict", `there is a skill "${name}" already`, { hint: `edit ${file}`, cause: error });
  }
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return file;
}

function projectRoots({ root, home }: SkillProject): SkillRoot[] {
  const { above, below } = skillRoots({ root, home, bundled: assetPath("skills"), dirs: [] });
  return [...above, ...below];
}

async function rootAt(path: string): Promise<SkillRoot> {
  const found = await stat(path).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) throw new AegisError("not_found", `there is no ${path}`);
    throw error;
  });
  // A page stands for its folder, and a folder for all skills below it.
  const folder = found.isDirectory() ? path : dirname(path);
  return {
    source: "project",
    folder,
    flat: !found.isDirectory() && !/^skills?\.md$/i.test(basename(path)),
    headerless: false,
  };
}

function nameRemarks(name: string, file: string | null): SkillDiagnostic[] {
  const note = (message: string): SkillDiagnostic[] => [
    { level: "warning", code: "field", skill: name, file, line: null, message },
  ];
  if (!namePattern.test(name))
    return note(`name: the format requires lower-case letters, digits and -, found "${name}"`);
  const folder = file === null || !/^skills?\.md$/i.test(basename(file)) ? name : basename(dirname(file));
  return folder === name ? [] : note(`name: the format requires that of the folder, "${folder}", found "${name}"`);
}
