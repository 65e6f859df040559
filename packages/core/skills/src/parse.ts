/** Parses the text of a page into a skill. Never throws: problems become diagnostics with line numbers. */
import type { SkillDiagnostic } from "@aegis/contract/skill.ts";
import { findHeader } from "@aegis/lib/find-header.ts";
import { type HeaderFields, readHeader } from "@aegis/lib/header-repair.ts";
import { firstParagraph, sectionAbout } from "@aegis/lib/page-header.ts";
import { isTrue, readMetadata, textOf } from "./metadata.ts";
import type { SkillOutline } from "./skill.ts";

export type SkillOrigin = Pick<SkillOutline, "source" | "plugin" | "file" | "folder" | "text"> & {
  /** The name if the page has none: that of its folder or file. */
  fallbackName: string;
  /** Pages without a header are common in this place, so they get no warning. */
  headerless: boolean;
};

export type ParsedSkill = { skill: SkillOutline | null; diagnostics: SkillDiagnostic[] };

const maxNameLength = 64;
/** A longer description would displace others in the list that every agent gets. */
const maxDescriptionLength = 1_536;
/** A shorter limit for text that was not written as a description. */
const maxTakenLength = 300;

/** Keys that start a field even in invalid YAML. */
const knownKeys = new Set([
  ...["name", "description", "when_to_use", "when-to-use", "argument-hint", "arguments", "disable-model-invocation"],
  ...["user-invocable", "allowed-tools", "disallowed-tools", "model", "effort", "context", "agent", "background"],
  ...["hooks", "paths", "shell", "metadata", "license", "compatibility", "homepage", "version", "author", "tags"],
  ...["keywords", "triggers", "category", "emoji", "command-dispatch", "command-tool", "command-arg-mode", "summary"],
  ...["read_when", "title", "tools", "language", "requires", "os", "always", "install", "created", "updated", "slug"],
  ...["globs", "alwaysApply", "type", "source", "domain", "desc", "trigger", "icon", "color", "status", "priority"],
]);

type Note = (level: SkillDiagnostic["level"], code: string, line: number | null, message: string) => void;

/** `text` is the page, or at least its header. */
export function parseSkill(text: string, origin: SkillOrigin): ParsedSkill {
  const diagnostics: SkillDiagnostic[] = [];
  const note: Note = (level, code, line, message) =>
    diagnostics.push({ level, code, skill: origin.fallbackName, file: origin.file, line, message });
  const { page, repairs } = findHeader(text, knownKeys);
  if (page.kind === "open") {
    note("error", "quarantine", page.line, "expected a second --- line that ends the header; it is not used");
    return { skill: null, diagnostics };
  }
  if (page.kind === "bare") {
    if (page.body.trim() === "") {
      note("error", "empty", 1, "is empty; expected a header between two --- lines and instructions below it");
      return { skill: null, diagnostics };
    }
    if (!origin.headerless)
      note("warning", "header", 1, "expected a header between two --- lines at the top; the page has none");
    const skill = toSkill({ fields: {}, repairs: [], lineOf: () => 1 }, page.body, origin, note);
    return { skill, diagnostics };
  }
  // A copy: substrings keep the whole text in memory, and there may be thousands of pages.
  const header = readHeader(Buffer.from(page.yaml).toString(), page.before, knownKeys);
  if ("fault" in header) {
    note("error", "quarantine", header.fault.line, `${header.fault.message}; it is not used`);
    return { skill: null, diagnostics };
  }
  for (const { line, message } of [...repairs, ...header.repairs]) note("warning", "repair", line, message);
  const skill = toSkill(header, page.body, origin, note);
  return { skill, diagnostics: diagnostics.map((one) => ({ ...one, skill: skill?.name ?? one.skill })) };
}

function toSkill({ fields, lineOf }: HeaderFields, body: string, origin: SkillOrigin, note: Note): SkillOutline | null {
  const at = (key: string): unknown => (Object.hasOwn(fields, key) ? fields[key] : undefined);
  const written = ["description", "summary", "desc", ...whenKeys].map((key) => proseOf(at(key))).find(isSome);
  const description = written ?? taken(body);
  if (description === "") {
    const message = "description: expected a sentence that says when the skill is of use; the page has no text either";
    note("error", "field", lineOf("description"), `${message}, so it is not used`);
    return null;
  }
  if (written === undefined && !origin.headerless)
    note(
      "warning",
      "field",
      lineOf("description"),
      `description: expected one; taken from the text: ${quoted(description)}`,
    );
  const metadata = readMetadata(at("metadata"), fields);
  for (const problem of metadata.problems) note("warning", "field", lineOf("metadata"), problem);
  const { source, plugin, file, folder, text } = origin;
  const context = textOf(at("context"));
  if (context !== null && context !== "fork" && context !== "inline")
    note("warning", "field", lineOf("context"), `context: expected fork, found "${context.slice(0, 40)}"`);
  return {
    name: nameOf(at("name"), origin.fallbackName, (message) => note("warning", "field", lineOf("name"), message)),
    description: capped(description, (message) => note("warning", "cap", lineOf("description"), message)),
    whenToUse: (whenKeys.map((key) => proseOf(at(key))).find(isSome) ?? whenSection(body)).slice(
      0,
      maxDescriptionLength,
    ),
    keywords: keywordKeys
      .flatMap((key) => proseOf(at(key)) ?? [])
      .join("\n")
      .slice(0, maxDescriptionLength),
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

const whenKeys = ["when_to_use", "when-to-use", "read_when", "use_when"] as const;
const keywordKeys = ["tags", "keywords", "triggers", "trigger", "category", "domain"] as const;

/** Text on one line: lists are joined, and a map results from an unquoted colon in a text. Null if empty. */
function proseOf(value: unknown): string | null {
  if (Array.isArray(value)) return textOf(value.flatMap((item) => proseOf(item) ?? []).join(", "));
  if (typeof value === "object" && value !== null)
    return textOf(
      Object.entries(value)
        .map(([key, item]) => `${key}: ${proseOf(item) ?? ""}`)
        .join(" "),
    );
  return textOf(value)?.replace(/\s+/g, " ") ?? null;
}

/** The first words of a page without a description. */
function taken(body: string): string {
  const text = firstParagraph(body);
  return text.length <= maxTakenLength ? text : `${text.slice(0, maxTakenLength - 1).trimEnd()}…`;
}

/** Many authors describe in the body when to use a skill. Used for matching only, never displayed. */
function whenSection(body: string): string {
  return sectionAbout(
    body,
    /^(?:when (?:to|should you|you should) (?:use|apply|activate|invoke)|use (?:this|it|when)|triggers?\b|activation)/i,
  );
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}

function isSome<T>(value: T | null): value is T {
  return value !== null;
}

function capped(text: string, warn: (message: string) => void): string {
  if (text.length <= maxDescriptionLength) return text;
  warn(`description: the last ${text.length - maxDescriptionLength} of ${text.length} characters were cut`);
  return `${text.slice(0, maxDescriptionLength - 1).trimEnd()}…`;
}

/** A list, or text separated by commas or blanks; separators inside brackets belong to an item. */
function toolList(value: unknown): string[] {
  const items = Array.isArray(value) ? value.map(String) : (textOf(value) ?? "").split(/[\s,]+(?![^()]*\))/);
  return items.map((item) => item.trim()).filter((item) => item !== "");
}

/** Removes line breaks and control characters. */
function oneLine(text: string): string {
  return text
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
}
