/**
 * Parses an agent file into a profile. The parser is lenient and reports each repair with its line. It returns no
 * profile only for an empty file, or for one whose rights cannot be parsed.
 */

import { basename } from "node:path";
import {
  type Agent,
  type AgentDiagnostic,
  type AgentMcp,
  type AgentProfile,
  type AgentSource,
  unsaidAgentFields,
} from "@aegis/contract/agent.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { type PageFields, readPageFields } from "@aegis/lib/page-fields.ts";
import { firstParagraph } from "@aegis/lib/page-header.ts";
import { describe, FieldReader, listOf, textOf } from "./fields.ts";
import { readRights, rightKeys, rightNames } from "./right-fields.ts";
import { agentSlug, madeUpSlug } from "./slug.ts";

export type AgentOrigin = {
  source: AgentSource;
  plugin: string | null;
  file: string | null;
  /** The name to use if the file has none: that of the file. */
  fallbackName: string | null;
};

export type ParsedAgent = { profile: AgentProfile | null; diagnostics: AgentDiagnostic[] };

/** Fields of other programs that have no effect here. */
const foreign: readonly string[] = [
  ...["background", "hooks", "initialPrompt", "isolation", "mcpServers", "memory"],
  ...["mode", "top_p", "steps", "maxSteps", "handoffs", "target", "infer", "argument-hint", "hidden"],
];
/** Fields that describe the file itself. */
const remarks: readonly string[] = [
  ...["color", "created_at", "updated_at", "version", "author", "category", "tags", "license", "metadata", "priority"],
  ...[
    "title",
    "emoji",
    "icon",
    "domain",
    "type",
    "status",
    "source",
    "homepage",
    "vibe",
    "specialization",
    "expertise",
  ],
];
/** Synonyms of a field; the first existing one counts. */
const names = {
  ...rightNames,
  harness: ["harness", "provider"],
  effort: ["reasoning_effort", "effort", "reasoningEffort"],
  maxTurns: ["maxTurns", "max_turns"],
} as const;
export const synonyms: readonly (readonly string[])[] = Object.values(names);
const known: readonly string[] = [
  ...["name", "description", "extends", "model", "temperature", "skills", "subagents", "may_end", "mcp", "disable"],
  "on_crash",
  "isolation",
  "nodes",
  "sandbox",
  "allow",
  ...[...synonyms.flat(), ...foreign, ...remarks],
];
const knownKeys: ReadonlySet<string> = new Set(known);

const efforts: Readonly<Record<string, Agent["effort"]>> = {
  low: "low",
  medium: "medium",
  high: "high",
  inherit: null,
  minimal: "low",
  xhigh: "high",
  max: "high",
};

const maxDescriptionLength = 4000;
const longestSentence = 300;
/** Common pages in agent folders that are not agents. */
const otherPages =
  /^(?:agents|claude|gemini|readme|contributing|changelog|licen[cs]e|index|overview|template|todo|security|code_of_conduct)\b.*\.md$/i;

export function parseAgentText(text: string, origin: AgentOrigin): ParsedAgent {
  const page = readAgentPage(text);
  if (!page.present && otherPages.test(basename(origin.file ?? ""))) return { profile: null, diagnostics: [] };
  const place = placeOf(origin, textOr(page.fields.name));
  if (text.trim() === "")
    return {
      profile: null,
      diagnostics: [{ ...place, level: "error", line: 1, message: "is empty; expected an agent" }],
    };
  const found = pageDiagnostics(page, place);
  if (found.some((diagnostic) => diagnostic.level === "error")) return { profile: null, diagnostics: found };
  const parsed = parseAgentFields(page.fields, page.body, origin, page.lineOf);
  return { profile: parsed.profile, diagnostics: [...found, ...parsed.diagnostics] };
}

export function readAgentPage(text: string): PageFields {
  return readPageFields(text, knownKeys);
}

/** Reports the repairs. A guess about an agent's rights is an error. */
export function pageDiagnostics(
  { present, fault, repairs }: Pick<PageFields, "present" | "fault" | "repairs">,
  place: Pick<AgentDiagnostic, "agent" | "plugin" | "file">,
): AgentDiagnostic[] {
  if (!present) {
    const message =
      "expected the fields of the agent between two --- lines at the top of the file; its text is the prompt";
    return [{ ...place, level: "warning", line: 1, message }];
  }
  if (fault !== null) return [{ ...place, level: "error", line: fault.line, message: fault.message }];
  return repairs.map(({ line, message, key }): AgentDiagnostic => {
    const isRight = key !== null && rightKeys.has(key);
    const unsafe = isRight ? `${message}; what the agent may do must not be guessed` : message;
    return { ...place, level: isRight ? "error" : "warning", line, message: unsafe };
  });
}

export function parseAgentFields(
  values: Readonly<Record<string, unknown>>,
  body: string,
  origin: AgentOrigin,
  lineOf: (key: string) => number | null,
): ParsedAgent {
  const diagnostics: AgentDiagnostic[] = [];
  const fields = new FieldReader(values, (level, key, message) => {
    const line = lineOf(key);
    diagnostics.push({ ...placeOf(origin, textOr(values.name)), level, line, message: `${key}: ${message}` });
  });
  const profile = readProfile(fields, body, origin);
  const isOff = values.disable === true;
  if (isOff) fields.warn("disable", "is true; the agent is not used");
  const broken = diagnostics.some((diagnostic) => diagnostic.level === "error");
  return { profile: broken || isOff ? null : profile, diagnostics };
}

function readProfile(fields: FieldReader, body: string, origin: AgentOrigin): AgentProfile {
  const { source, plugin, file } = origin;
  for (const key of fields.keys) {
    if (!knownKeys.has(key)) fields.warn(key, `no such field${didYouMean(key, known)}`);
    else if (foreign.includes(key)) fields.warn(key, "has no effect here; another program uses it");
  }
  const base = readExtends(fields, plugin);
  const slug = readName(fields, origin.fallbackName);
  return {
    ...unsaidAgentFields,
    slug,
    ...(base === null ? {} : { extends: base }),
    ...readTexts(fields, body, base !== null),
    harness: inherited(fields.text(...names.harness)),
    model: readModel(fields),
    effort: fields.choice(efforts, ...names.effort),
    temperature: fields.number({ min: 0, max: 2, whole: false }, "temperature"),
    max_turns: fields.number({ min: 1, max: 10_000, whole: true }, ...names.maxTurns),
    skills: readSkills(fields),
    ...readRights(fields, plugin),
    mcp: readMcp(fields, plugin),
    on_crash: fields.choice({ retry: "retry", fail: "fail" }, "on_crash"),
    isolation: fields.choice({ none: "none", worktree: "worktree" }, "isolation"),
    nodes: fields.list("nodes")?.items ?? null,
    source,
    plugin,
    file,
  };
}

/** Reads description and prompt. Each replaces the other if one is missing. */
function readTexts(fields: FieldReader, body: string, isExtension: boolean): { description: string; prompt: string } {
  const written = readDescription(fields);
  const prompt = body.trim();
  if (isExtension) return { description: written ?? "", prompt };
  if (written === null && prompt === "") {
    fields.error("name", "expected the system prompt below the fields, found nothing");
    return { description: "", prompt: "" };
  }
  const description = written ?? firstSentence(prompt);
  if (written === null)
    fields.warn(
      "description",
      `expected a sentence that says what the agent is for; taken from its text: ${shortened(description)}`,
    );
  if (prompt === "") fields.warn("name", "expected the system prompt below the fields; the description is used");
  return { description, prompt: prompt === "" ? description : prompt };
}

function readDescription(fields: FieldReader): string | null {
  const found = fields.first("description");
  if (found === null) return null;
  const text = isRecord(found.value)
    ? textOf(Object.values(found.value).flatMap((value) => textOf(value) ?? []))
    : textOf(found.value);
  if (text === null || text.length <= maxDescriptionLength) return text;
  fields.warn("description", `the last ${text.length - maxDescriptionLength} of ${text.length} characters were cut`);
  return `${text.slice(0, maxDescriptionLength - 1).trimEnd()}…`;
}

function firstSentence(body: string): string {
  const text = firstParagraph(body);
  const sentence = /^.{10,}?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;
  return sentence.length <= longestSentence ? sentence : `${sentence.slice(0, longestSentence - 1)}…`;
}

function readName(fields: FieldReader, fallback: string | null): string {
  const found = fields.first("name");
  const written = textOf(found?.value);
  const own = fallback?.replace(/\.(?:agent|chatmode|subagent)$/i, "") ?? null;
  if (written === null && own !== null && own !== "")
    fields.warn("name", `expected a name; the file's is taken: ${own}`);
  const name = written ?? own ?? "";
  const slug = agentSlug(name) ?? (own === null ? null : agentSlug(own)) ?? (name === "" ? null : madeUpSlug(name));
  if (slug === null) fields.error("name", "expected the name of the agent, found nothing");
  else if (slug !== name && written !== null)
    fields.warn("name", `expected lower-case letters and digits joined by - or _; taken as ${slug}`);
  return slug ?? "";
}

/** Only the user's own files can extend other agents; a plugin's agents must be complete. */
function readExtends(fields: FieldReader, plugin: string | null): string | null {
  const base = fields.text("extends");
  if (base === null || plugin === null) return base;
  fields.warn("extends", "has no effect for an agent of a plugin");
  return null;
}

/** Some programs accept a list of models, in order of preference. */
function readModel(fields: FieldReader): string | null {
  const found = fields.first("model");
  if (!Array.isArray(found?.value)) return inherited(fields.text("model"));
  const [first = null] = listOf(found.value) ?? [];
  fields.warn("model", `expected one model; the first one is taken: ${first ?? "none"}`);
  return inherited(first);
}

/** An unreadable list grants no skill, because the author meant to restrict them. */
function readSkills(fields: FieldReader): string[] | null {
  const found = fields.first("skills");
  if (found === null) return null;
  const items = listOf(found.value);
  if (items === null)
    fields.warn("skills", `expected a list of names, found ${describe(found.value)}; it has no skills`);
  return items ?? [];
}

/** A plugin's agent starts no servers, nor does an agent whose list cannot be parsed. */
function readMcp(fields: FieldReader, plugin: string | null): AgentMcp {
  const found = fields.first("mcp");
  if (found === null) return "none";
  const items = listOf(found.value);
  if (items === null || plugin !== null) {
    const why =
      plugin === null ? `expected none, inherit or a list of names, found ${describe(found.value)}` : noEffect;
    fields.warn("mcp", why);
    return "none";
  }
  const [first = "none", ...more] = items;
  return more.length === 0 && (first === "none" || first === "inherit") ? first : items;
}

const noEffect = "has no effect for an agent of a plugin; only the user's own files can give it";

function inherited(value: string | null): string | null {
  return value === "inherit" ? null : value;
}

function placeOf({ plugin, file, fallbackName }: AgentOrigin, name: string | null) {
  return { agent: name ?? fallbackName, plugin, file };
}

function shortened(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}

function textOr(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, 100) : null;
}
