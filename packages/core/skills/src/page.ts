/** Reads a page from disk as a skill. */
import { basename } from "node:path";
import type { SkillDiagnostic } from "@aegis/contract/skill.ts";
import { errorText } from "@aegis/lib/log.ts";
import { type ParsedSkill, parseSkill, type SkillOrigin } from "./parse.ts";
import { headBytes, maxPageBytes, readPage } from "./read-page.ts";

export type PageOrigin = Pick<SkillOrigin, "source" | "plugin" | "folder" | "headerless"> & { file: string };

/** Never throws: an unreadable page becomes a diagnostic. */
export function parsePage(origin: PageOrigin, room?: Buffer): ParsedSkill {
  const { file, folder } = origin;
  const fallbackName = folder === null ? basename(file).replace(/\.md$/i, "") : basename(folder);
  const note = (level: SkillDiagnostic["level"], code: string, name: string | null, message: string) => ({
    level,
    code,
    skill: name,
    file,
    line: null,
    message,
  });
  try {
    const { text, cut, broken } = readPage(file, headBytes, room);
    const { skill, diagnostics } = parseSkill(text, { ...origin, text: null, fallbackName });
    const name = skill?.name ?? fallbackName;
    const size = cut + (cut === 0 ? 0 : headBytes);
    const notes: SkillDiagnostic[] = [];
    if (broken) notes.push(note("warning", "repair", name, "contains bytes that are not UTF-8 text"));
    if (size > maxPageBytes) {
      const message = `is ${size} bytes long; agents get the first ${maxPageBytes} of them`;
      notes.push(note("warning", "cap", name, message));
    }
    return { skill, diagnostics: [...diagnostics, ...notes] };
  } catch (error) {
    return { skill: null, diagnostics: [note("error", "unreadable", null, `cannot be read: ${errorText(error)}`)] };
  }
}
