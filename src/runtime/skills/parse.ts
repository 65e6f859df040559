/** From the text of a page to a skill. Never throws: what is wrong is in the diagnostics, each with its line. */
import type { SkillDiagnostic } from "../../contract/skill.ts";
import { firstParagraph, splitPage } from "./header.ts";
import { isTrue, readMetadata, textOf } from "./metadata.ts";
import { type HeaderFields, readHeader } from "./repair.ts";
import type { Skill } from "./skill.ts";

export type SkillOrigin = Pick<Skill, "source" | "plugin" | "file" | "folder" | "text"> & {
  /** The name when the page gives none: that of its folder or file. */
  fallbackName: string;
  /** A page without a header is a skill too. */
  headerless: boolean;
};

export type ParsedSkill = { skill: Skill | null; diagnostics: SkillDiagnostic[] };

export const maxNameLength = 64;
/** Longer ones crowd out the others in what every agent is told. */
export const maxDescriptionLength = 1_536;

type Note = (level: SkillDiagnostic["level"], code: string, line: number | null, message: string) => void;

/** `text` is the page, or as much of its beginning as holds the header. */
export function parseSkill(text: string, origin: SkillOrigin): ParsedSkill {
  const diagnostics: SkillDiagnostic[] = [];
  const note: Note = (level, code, line, message) =>
    diagnostics.push({ level, code, skill: origin.fallbackName, file: origin.file, line, message });
  const page = splitPage(text);
  if (page.kind === "open") {
    note("error", "quarantine", page.line, "expected a second --- line that ends the header; it is not used");
    return { skill: null, diagnostics };
  }
  if (page.kind === "bare") {
    if (!origin.headerless) {
      note("error", "quarantine", 1, "expected a header between two --- lines at the top; it is not used");
      return { skill: null, diagnostics };
    }
    return { skill: bareSkill(page.body, origin, note), diagnostics };
  }
  // A copy: parts of a text keep the whole of it in memory, and thousands of pages are not to be kept.
  const header = readHeader(Buffer.from(page.yaml).toString(), page.before);
  if ("fault" in header) {
    note("error", "quarantine", header.fault.line, `${header.fault.message}; it is not used`);
    return { skill: null, diagnostics };
  }
  for (const { line, message } of header.repairs) note("warning", "repair", line, message);
  const skill = toSkill(header, page.body, origin, note);
  return { skill, diagnostics: diagnostics.map((one) => ({ ...one, skill: skill?.name ?? one.skill })) };
}

function bareSkill(body: string, origin: SkillOrigin, note: Note): Skill | null {
  return toSkill({ fields: {}, repairs: [], lineOf: () => 1 }, body, { ...origin, headerless: true }, note);
}

function toSkill({ fields, lineOf }: HeaderFields, body: string, origin: SkillOrigin, note: Note): Skill | null {
  const at = (key: string): unknown => (Object.hasOwn(fields, key) ? fields[key] : undefined);
  const description = describe(at("description") ?? at("summary"), body, origin, (message) =>
    note("error", "field", lineOf("description"), message),
  );
  if (description === null) return null;
  const metadata = readMetadata(at("metadata"), fields);
  for (const problem of metadata.problems) note("warning", "field", lineOf("metadata"), problem);
  const { source, plugin, file, folder, text } = origin;
  const context = textOf(at("context"));
  if (context !== null && context !== "fork" && context !== "inline")
    note("warning", "field", lineOf("context"), `context: expected fork, found "${context.slice(0, 40)}"`);
  return {
    name: nameOf(at("name"), origin.fallbackName, (message) => note("warning", "field", lineOf("name"), message)),
    description: capped(description, (message) => note("warning", "cap", lineOf("description"), message)),
    whenToUse: (textOf(at("when_to_use") ?? at("when-to-use")) ?? "").slice(0, maxDescriptionLength),
    source,
    plugin,
    file,
    folder,
    text,
    needs: metadata.needs,
    modelInvocable: !isTrue(at("disable-model-invocation")),
    userInvocable: at("user-invocable") === undefined || isTrue(at("user-invocable")),
    allowedTools: toolList(at("allowed-tools")),
    context: context === "fork" ? "fork" : "inline",
    forkAgent: textOf(at("agent")),
    agent: metadata.agent,
    argumentHint: textOf(at("argument-hint")),
    argumentNames: toolList(at("arguments")).flatMap((item) => item.split(/\s+/)),
    homepage: textOf(at("homepage")) ?? metadata.homepage,
    license: textOf(at("license")),
  };
}

function nameOf(value: unknown, fallback: string, warn: (message: string) => void): string {
  const written = textOf(value);
  const clean = oneLine(written ?? "");
  if (clean === "") {
    if (value !== undefined && value !== null) warn(`name: expected text; that of the folder is taken: ${fallback}`);
    return oneLine(fallback).slice(0, maxNameLength);
  }
  if (clean.length > maxNameLength) warn(`name: expected at most ${maxNameLength} characters; the rest was cut`);
  return clean.slice(0, maxNameLength).trim();
}

function describe(value: unknown, body: string, origin: SkillOrigin, fail: (message: string) => void): string | null {
  const written = Array.isArray(value) ? textOf(value.map(String).join(" ")) : textOf(value);
  const text = written ?? (origin.headerless ? firstParagraph(body) : "");
  if (text !== "") return text.replace(/\s+/g, " ");
  fail("description: expected a sentence that says when the skill is of use; it is not used");
  return null;
}

function capped(text: string, warn: (message: string) => void): string {
  if (text.length <= maxDescriptionLength) return text;
  warn(`description: the last ${text.length - maxDescriptionLength} of ${text.length} characters were cut`);
  return `${text.slice(0, maxDescriptionLength - 1).trimEnd()}…`;
}

/** A list, or text with commas or blanks between its items; those inside brackets belong to an item. */
function toolList(value: unknown): string[] {
  const items = Array.isArray(value) ? value.map(String) : (textOf(value) ?? "").split(/[\s,]+(?![^()]*\))/);
  return items.map((item) => item.trim()).filter((item) => item !== "");
}

/** Without what could end a line or hide in one. */
function oneLine(text: string): string {
  return text
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
}
