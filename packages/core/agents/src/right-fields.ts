/**
 * Parses the fields of an agent file that define its rights. A bad value here rejects the agent: ignoring it would
 * grant more than the author meant.
 */

import { type Agent, type Permission, subagentLimitsSchema } from "@aegis/contract/agent.ts";
import { sandboxAllowSchema, sandboxLevelSchema } from "@aegis/contract/sandbox.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { fieldProblems, problemText } from "@aegis/lib/issue-words.ts";
import { parseHostRule } from "@aegis/sandbox/host-rules.ts";
import { describe, type FieldReader, listOf } from "./fields.ts";

/** Synonyms of a field; the first existing one counts. */
export const rightNames = {
  permission: ["permission", "permissionMode"],
  tools: ["tools", "tools_allow"],
  denied: ["deny_tools", "tools_deny", "disallowedTools"],
} as const;

/** All keys that this module reads. */
export const rightKeys: ReadonlySet<string> = new Set([
  ...Object.values(rightNames).flat(),
  "subagents",
  "may_end",
  "mcp",
  "sandbox",
  "allow",
]);

export type Rights = Pick<Agent, "tools" | "deny_tools" | "subagents" | "may_end" | "sandbox" | "allow"> & {
  permission: Permission | null;
};

const permissions: Readonly<Record<string, Permission | null>> = {
  read: "read",
  write: "write",
  full: "full",
  auto: "auto",
  inherit: null,
};
const permissionModes: Readonly<Record<string, Permission | null>> = {
  default: "auto",
  auto: "auto",
  acceptEdits: "write",
  plan: "read",
  bypassPermissions: "full",
  inherit: null,
  // In this mode, Claude Code refuses everything that was not allowed before.
  dontAsk: "read",
};

export function readRights(fields: FieldReader, plugin: string | null): Rights {
  const tools = readTools(fields);
  const permission = readPermission(fields);
  const denied = fields.list(...rightNames.denied)?.items ?? [];
  return {
    permission: permission.permission,
    tools: tools.tools,
    deny_tools: [...new Set([...denied, ...tools.denied, ...permission.denied])],
    subagents: readSubagents(fields),
    may_end: readMayEnd(fields, plugin),
    sandbox: readSandbox(fields),
    allow: readAllow(fields, plugin),
  };
}

type Tools = { tools: string[] | null; denied: string[] };

/** `none` means no tools. An empty list is treated as absent, because authors usually mean that. */
function readTools(fields: FieldReader): Tools {
  const found = fields.first(...rightNames.tools);
  if (found === null) return { tools: null, denied: [] };
  const { key, value } = found;
  if (isRecord(value)) return readSwitches(fields, key, value);
  const items = listOf(Array.isArray(value) ? value.map(entryOf) : value);
  if (items === null) {
    fields.error(key, `expected a list of names, or names with commas between them, found ${describe(value)}`);
    return { tools: [], denied: [] };
  }
  const [first = ""] = items;
  if (items.length === 1 && first === "none") return { tools: [], denied: [] };
  if (items.length === 1 && /^(?:all|all tools|inherit)$/i.test(first)) return { tools: null, denied: [] };
  if (items.length > 0) return { tools: items, denied: [] };
  fields.warn(key, "an empty list counts as not written; for an agent without tools write none");
  return { tools: null, denied: [] };
}

/** YAML parses `- Bash(git: *)` as a map, but the author means a name. An unknown name grants nothing. */
function entryOf(item: unknown): unknown {
  if (!isRecord(item)) return item;
  const [pair, ...more] = Object.entries(item);
  if (pair === undefined || more.length > 0 || typeof pair[1] !== "string") return item;
  return `${pair[0]}: ${pair[1]}`;
}

/**
 * OpenCode's `{ write: false }`: disabled tools are denied. If the wildcard is disabled, only the enabled tools are
 * allowed.
 */
function readSwitches(fields: FieldReader, key: string, value: Readonly<Record<string, unknown>>): Tools {
  const entries = Object.entries(value);
  const odd = entries.find(([, on]) => typeof on !== "boolean");
  if (odd !== undefined) {
    fields.error(key, `expected true or false for ${odd[0]}, found ${describe(odd[1])}`);
    return { tools: [], denied: [] };
  }
  const named = (on: boolean) =>
    entries.filter(([name, is]) => is === on && name !== "*").map(([name]) => toolName(name));
  return { tools: value["*"] === false ? named(true) : null, denied: value["*"] === false ? [] : named(false) };
}

type Permissions = { permission: Permission | null; denied: string[] };

function readPermission(fields: FieldReader): Permissions {
  const found = fields.first("permission");
  if (found === null) return { permission: readMode(fields), denied: [] };
  const { key, value } = found;
  if (isRecord(value)) return readVerdicts(fields, key, value);
  const word = typeof value === "string" ? value.trim() : "";
  if (Object.hasOwn(permissions, word)) return { permission: permissions[word] ?? null, denied: [] };
  if (word === "deny") return { permission: "read", denied: [] };
  if (word === "ask") return { permission: "auto", denied: [] };
  fields.error(key, `expected one of ${Object.keys(permissions).join(", ")}, found ${describe(value)}`);
  return { permission: "read", denied: [] };
}

function readMode(fields: FieldReader): Permission | null {
  const found = fields.first("permissionMode");
  if (found === null || found.value === "") return null;
  const { value } = found;
  if (typeof value === "string" && Object.hasOwn(permissionModes, value)) return permissionModes[value] ?? null;
  fields.error(
    "permissionMode",
    `expected one of ${Object.keys(permissionModes).join(", ")}, found ${describe(value)}`,
  );
  return "read";
}

/**
 * OpenCode's `{ edit: deny, bash: ask }`. A tool that is denied for some of its uses is denied entirely, because Aegis
 * does not distinguish uses here.
 */
function readVerdicts(fields: FieldReader, key: string, value: Readonly<Record<string, unknown>>): Permissions {
  const denied: string[] = [];
  let asks = false;
  for (const [tool, verdict] of Object.entries(value)) {
    const all = isRecord(verdict) ? Object.values(verdict) : [verdict];
    const odd = all.find((one) => one !== "allow" && one !== "ask" && one !== "deny");
    if (all.length === 0 || odd !== undefined) {
      fields.error(key, `expected allow, ask or deny for ${tool}, found ${describe(odd)}`);
      return { permission: "read", denied };
    }
    if (all.includes("deny")) denied.push(...(tool === "edit" ? ["edit", "write"] : [toolName(tool)]));
    asks ||= all.includes("ask");
  }
  return { permission: asks ? "auto" : null, denied };
}

/** Translates OpenCode's name of a tool to Aegis's. */
function toolName(name: string): string {
  const words: Readonly<Record<string, string>> = {
    webfetch: "fetch",
    list: "ls",
    todowrite: "todo",
    todoread: "todo",
  };
  return Object.hasOwn(words, name) ? (words[name] ?? name) : name;
}

function readSubagents(fields: FieldReader): Agent["subagents"] {
  const found = fields.first("subagents");
  if (found === null) return {};
  const parsed = subagentLimitsSchema.safeParse(found.value);
  if (parsed.success) return parsed.data;
  const words = { known: Object.keys(subagentLimitsSchema.shape), noun: "field" };
  for (const problem of fieldProblems(parsed.error.issues, words)) fields.error("subagents", problemText(problem));
  return {};
}

function readSandbox(fields: FieldReader): Agent["sandbox"] {
  const found = fields.first("sandbox");
  if (found === null) return null;
  const level = sandboxLevelSchema.safeParse(found.value);
  if (level.success) return level.data;
  const levels = sandboxLevelSchema.options.join(", ");
  fields.error("sandbox", `expected one of ${levels}, found ${describe(found.value)}`);
  return "strict";
}

function readAllow(fields: FieldReader, plugin: string | null): Agent["allow"] {
  const found = fields.first("allow");
  if (found === null) return null;
  if (plugin !== null) {
    fields.warn("allow", "has no effect for an agent of a plugin; only the user's own files can give it");
    return null;
  }
  const parsed = sandboxAllowSchema.safeParse(found.value);
  if (!parsed.success) {
    const words = { known: Object.keys(sandboxAllowSchema.shape), noun: "field" };
    for (const problem of fieldProblems(parsed.error.issues, words)) fields.error("allow", problemText(problem));
    return null;
  }
  for (const host of parsed.data.hosts) {
    const rule = parseHostRule(host);
    if (typeof rule === "string") fields.error("allow", `hosts: ${rule}, found "${host}"`);
  }
  return parsed.data;
}

/** A plugin's agent cannot request the right to end work that others started. */
function readMayEnd(fields: FieldReader, plugin: string | null): string[] {
  const list = fields.list("may_end");
  if (list === null || plugin === null) return list?.items ?? [];
  fields.warn(list.key, "has no effect for an agent of a plugin; only the user's own files can give it");
  return [];
}
