/** Reads the programs that a manifest lists as tools. A bad entry disables only that entry. */

import type { ExecutableTool } from "@aegis/contract/plugin.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { defaultPermission, undeclaredPermission } from "@aegis/plugin-api/tool.ts";
import { isCache } from "../caches.ts";
import { type FieldPath, found, type Notes } from "./notes.ts";
import type { ManifestFields } from "./source.ts";

export const maxExecutables = 200;
const toolNamePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const defaultTimeoutMs = 30_000;
const longestTimeoutMs = 24 * 60 * 60 * 1000;

const known: readonly string[] = [
  ...["name", "display_name", "description", "command", "args", "schema", "parameters", "input_schema", "timeout"],
  ...["permission", "requiresConfirmation", "readOnly", "required_agent", "visible_to", "usageGuidance", "subtext"],
  ...["type", "interactive"],
];

export function readExecutables(value: unknown, notes: Notes): ExecutableTool[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    notes.error(["tools"], `expected a list of tools, found ${found(value)}`);
    return [];
  }
  if (value.length > maxExecutables)
    notes.warn(["tools"], `expected at most ${maxExecutables}, found ${value.length}; the others are left out`);
  const seen = new Set<string>();
  return value.slice(0, maxExecutables).flatMap((entry, index) => {
    const tool = readExecutable(entry, ["tools", index], notes);
    if (tool === null) return [];
    if (seen.has(tool.name)) {
      notes.warn(["tools", index, "name"], `the tool "${tool.name}" is listed twice; the first one counts`);
      return [];
    }
    seen.add(tool.name);
    return [tool];
  });
}

function readExecutable(entry: unknown, at: FieldPath, notes: Notes): ExecutableTool | null {
  const refuse = (path: FieldPath, message: string) => {
    notes.warn(path, `${message}; this tool is left out`);
    return null;
  };
  if (!isRecord(entry)) return refuse(at, `expected a map with name and command, found ${found(entry)}`);
  notes.unknownKeys(entry, known, at);
  const { name, command } = entry;
  if (typeof name !== "string" || !toolNamePattern.test(name))
    return refuse([...at, "name"], `expected letters, digits, - and _, starting with a letter, found ${found(name)}`);
  if (typeof command !== "string" || command.trim() === "" || command.includes("\0"))
    return refuse([...at, "command"], `expected the program of the tool "${name}", found ${found(command)}`);
  if (command.startsWith(".") && command.split(/[/\\]/).includes(".."))
    return refuse([...at, "command"], `expected a program inside the plugin's folder, found ${found(command)}`);
  const unseen = [command, ...notes.texts(entry, "args", at)].find((word) => isCache(word.replace(/^\.\//, "")));
  if (unseen !== undefined)
    return refuse(at, `expected a program of the plugin, found the cache ${found(unseen)}, which is no part of it`);
  if (entry.type !== undefined && entry.type !== "executable")
    return refuse([...at, "type"], `expected executable, found ${found(entry.type)}`);
  if (entry.interactive === true) return refuse([...at, "interactive"], "tools that ask back are not supported");
  const schema = entry.schema ?? entry.input_schema ?? entry.parameters ?? { type: "object" };
  if (!isRecord(schema)) return refuse([...at, "schema"], `expected a JSON Schema, found ${found(schema)}`);
  const timeout = entry.timeout ?? defaultTimeoutMs;
  if (typeof timeout !== "number" || !(timeout > 0) || timeout > longestTimeoutMs)
    return refuse([...at, "timeout"], `expected milliseconds, at most a day, found ${found(timeout)}`);
  const permission = entry.permission ?? defaultPermission;
  if (permission !== "read" && permission !== "write" && permission !== "full")
    return refuse([...at, "permission"], `expected read, write or full, found ${found(permission)}`);
  if (entry.permission === undefined || entry.permission === null) notes.warn(at, undeclaredPermission(name));
  const guidance = notes.text(entry, "usageGuidance", at);
  const description = notes.text(entry, "description", at);
  if (description === null) notes.warn(at, `the tool "${name}" has no description; agents are unlikely to use it`);
  return {
    name,
    description: [description, guidance].filter((text) => text !== null && text !== "").join("\n\n") || name,
    command,
    args: notes.texts(entry, "args", at),
    schema: asSchema(schema),
    timeout_ms: timeout,
    permission,
    read_only: notes.flag(entry, "readOnly", at),
    required_agent: notes.text(entry, "required_agent", at),
    visible_to: notes.texts(entry, "visible_to", at),
  };
}

/** A plain map of parameters is shorthand for an object schema. */
function asSchema(schema: ManifestFields): ManifestFields {
  if (schema.type !== undefined && typeof schema.type === "string") return schema;
  return { type: "object", properties: schema };
}
