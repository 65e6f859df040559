/** From an agent file to a profile. Every fault is named with its line; one that matters leaves no profile. */
import {
  type Agent,
  type AgentDiagnostic,
  type AgentProfile,
  type AgentSource,
  type Permission,
  slugMaxLength,
  slugPattern,
  subagentLimitsSchema,
  unsaidAgentFields,
} from "../../contract/agent.ts";
import { parseFrontmatter } from "../../lib/frontmatter.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { describe, Fields } from "./fields.ts";

export type AgentOrigin = {
  source: AgentSource;
  plugin: string | null;
  file: string | null;
  /** The name when the file gives none: that of the file. */
  fallbackName: string | null;
};

export type ParsedAgent = { profile: AgentProfile | null; diagnostics: AgentDiagnostic[] };

/** Fields that Claude Code knows and that mean nothing here. */
const foreign: readonly string[] = ["background", "hooks", "initialPrompt", "isolation", "mcpServers", "memory"];
/** Fields about the file itself. */
const remarks: readonly string[] = ["color", "created_at", "updated_at"];
/** Names for one and the same field, the one that counts first. */
const names = {
  harness: ["harness", "provider"],
  effort: ["reasoning_effort", "effort"],
  permission: ["permission", "permissionMode"],
  tools: ["tools", "tools_allow"],
  denied: ["deny_tools", "tools_deny", "disallowedTools"],
  maxTurns: ["maxTurns", "max_turns"],
} as const;
export const synonyms: readonly (readonly string[])[] = Object.values(names);
const known: readonly string[] = [
  ...["name", "description", "model", "temperature", "skills", "subagents"],
  ...[...synonyms.flat(), ...foreign, ...remarks],
];

const efforts = {
  ...{ low: "low", medium: "medium", high: "high", inherit: null },
  ...{ minimal: "low", xhigh: "high", max: "high" },
} as const satisfies Record<string, Agent["effort"]>;
const permissions = { read: "read", write: "write", full: "full", auto: "auto", inherit: null } as const;
const permissionModes = {
  ...{ default: "auto", auto: "auto", acceptEdits: "write", plan: "read", bypassPermissions: "full", inherit: null },
} as const satisfies Record<string, Permission | null>;

export const maxDescriptionLength = 4000;

export function parseAgentText(text: string, origin: AgentOrigin): ParsedAgent {
  const { present, fields, body, problems, lineOf } = parseFrontmatter(text);
  if (!present) {
    const message = "expected the fields of the agent between two --- lines at the top of the file";
    return { profile: null, diagnostics: [{ ...placeOf(origin, null), level: "error", line: 1, message }] };
  }
  const found = problems.map(
    ({ line, message, fatal }): AgentDiagnostic => ({
      ...placeOf(origin, textOr(fields.name)),
      level: fatal ? "error" : "warning",
      line,
      message,
    }),
  );
  if (found.some((diagnostic) => diagnostic.level === "error")) return { profile: null, diagnostics: found };
  const parsed = parseAgentFields(fields, body, origin, lineOf);
  return { profile: parsed.profile, diagnostics: [...found, ...parsed.diagnostics] };
}

export function parseAgentFields(
  values: Readonly<Record<string, unknown>>,
  body: string,
  origin: AgentOrigin,
  lineOf: (key: string) => number | null,
): ParsedAgent {
  const diagnostics: AgentDiagnostic[] = [];
  const fields = new Fields(values, (level, key, message) => {
    const line = lineOf(key);
    diagnostics.push({ ...placeOf(origin, textOr(values.name)), level, line, message: `${key}: ${message}` });
  });
  const profile = readProfile(fields, body, origin);
  const broken = diagnostics.some((diagnostic) => diagnostic.level === "error");
  return { profile: broken ? null : profile, diagnostics };
}

/** The name an agent goes by, or null. Spaces and capitals, which Claude Code lets pass, are taken as a slip. */
export function agentSlug(name: string): string | null {
  const slug = name.trim().toLowerCase().replace(/ +/g, "-");
  return slug.length <= slugMaxLength && slugPattern.test(slug) ? slug : null;
}

function readProfile(fields: Fields, body: string, origin: AgentOrigin): AgentProfile {
  const { source, plugin, file } = origin;
  for (const key of fields.keys) {
    if (!known.includes(key)) fields.warn(key, `no such field${didYouMean(key, known)}`);
    else if (foreign.includes(key)) fields.warn(key, "has no effect here; Claude Code knows it for its own subagents");
  }
  const description = fields.text("description");
  if (description === null) fields.error("description", "expected a sentence that says what the agent is for");
  else if (description.length > maxDescriptionLength)
    fields.error("description", `expected at most ${maxDescriptionLength} characters, found ${description.length}`);
  const prompt = body.trim();
  if (prompt === "") fields.error("name", "expected the system prompt below the fields, found nothing");
  return {
    ...unsaidAgentFields,
    slug: readName(fields, origin.fallbackName),
    description: description ?? "",
    harness: inherited(fields.text(...names.harness)),
    model: inherited(fields.text("model")),
    effort: fields.choice(efforts, ...names.effort),
    permission: readPermission(fields),
    prompt,
    temperature: fields.number({ min: 0, max: 2, whole: false }, "temperature"),
    max_turns: fields.number({ min: 1, max: 10_000, whole: true }, ...names.maxTurns),
    tools: readTools(fields),
    deny_tools: fields.list(...names.denied)?.items ?? [],
    skills: fields.list("skills")?.items ?? null,
    subagents: readSubagents(fields),
    source,
    plugin,
    file,
  };
}

function readName(fields: Fields, fallback: string | null): string {
  const written = fields.text("name");
  if (written === null && fallback !== null) fields.warn("name", `expected a name; the file's is taken: ${fallback}`);
  const name = written ?? fallback ?? "";
  const slug = agentSlug(name);
  if (slug === null)
    fields.error(
      "name",
      `expected lower-case letters and digits joined by - or _, at most ${slugMaxLength}, found ${JSON.stringify(name.slice(0, 80))}`,
    );
  else if (slug !== name) fields.warn("name", `expected lower-case letters without spaces; taken as ${slug}`);
  return slug ?? "";
}

function readPermission(fields: Fields): Permission | null {
  if (fields.first("permission") !== null) return fields.choice(permissions, "permission");
  const mode = fields.text("permissionMode");
  if (mode === null) return null;
  if (Object.hasOwn(permissionModes, mode)) return permissionModes[mode as keyof typeof permissionModes];
  fields.warn("permissionMode", `has no meaning here: ${describe(mode)}; the default agent's rights apply`);
  return null;
}

/** `none` is none at all; an empty list is the slip of someone who meant to say nothing. */
function readTools(fields: Fields): string[] | null {
  const list = fields.list(...names.tools);
  if (list === null) return null;
  const { key, items } = list;
  if (items.length === 1 && items[0] === "none") return [];
  if (items.length > 0) return items;
  fields.warn(key, "an empty list counts as not written; for an agent without tools write none");
  return null;
}

function readSubagents(fields: Fields): Agent["subagents"] {
  const found = fields.first("subagents");
  if (found === null) return {};
  const parsed = subagentLimitsSchema.safeParse(found.value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues)
    fields.error("subagents", [issue.path.join("."), issue.message].filter((part) => part !== "").join(": "));
  return {};
}

function inherited(value: string | null): string | null {
  return value === "inherit" ? null : value;
}

function placeOf({ plugin, file, fallbackName }: AgentOrigin, name: string | null) {
  return { agent: name ?? fallbackName, plugin, file };
}

function textOr(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, 100) : null;
}
