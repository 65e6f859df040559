/** Pages, folders and skills for the tests of skills. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { LibraryState } from "../src/library.ts";
import { SkillLibrary } from "../src/library.ts";
import { type ParsedSkill, parseSkill, type SkillOrigin } from "../src/parse.ts";
import type { SkillRoot } from "../src/places.ts";
import type { SkillOutline } from "../src/skill.ts";

export const never = new AbortController().signal;

export function page(header: string, body = "Do it well."): string {
  return `---\n${header}\n---\n\n${body}\n`;
}

export function simplePage(name: string, description = `About ${name}`, more = ""): string {
  return page(`name: ${name}\ndescription: ${description}${more === "" ? "" : `\n${more}`}`);
}

export function parse(text: string, origin: Partial<SkillOrigin> = {}): ParsedSkill {
  const base = { source: "project", plugin: null, file: "/x/SKILL.md", folder: "/x", text: null } as const;
  return parseSkill(text, { ...base, fallbackName: "folder-name", headerless: false, ...origin });
}

export function parsed(text: string): SkillOutline {
  const { skill, diagnostics } = parse(text);
  if (skill === null) throw new Error(JSON.stringify(diagnostics));
  return skill;
}

export function writeTree(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

export function rootAt(folder: string, more: Partial<SkillRoot> = {}): SkillRoot {
  return { source: "project", folder, flat: false, headerless: false, ...more };
}

export function libraryOf(...roots: SkillRoot[]): SkillLibrary {
  return new SkillLibrary({ roots: () => ({ above: roots, below: [] }), now: Date.now });
}

export async function load(...roots: SkillRoot[]): Promise<LibraryState> {
  return libraryOf(...roots).refresh(never);
}
