/** Parses a command page: a Markdown file with a description in the header and the prompt in the body. */
import type { CommandDiagnostic } from "@aegis/contract/command.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { readPageFields } from "@aegis/lib/page-fields.ts";

type CommandPage = { description: string; argumentHint: string | null; body: string };

export type ParsedPage = { page: CommandPage | null; diagnostics: CommandDiagnostic[] };

const maxDescription = 200;

const known: readonly string[] = ["description", "argument-hint"];
/** Claude Code fields that change how its own session runs. */
const foreign: readonly string[] = [
  ...["allowed-tools", "disallowed-tools", "model", "effort", "agent", "context", "hooks", "paths", "shell"],
  ...["name", "when_to_use", "arguments", "disable-model-invocation", "user-invocable", "subtask"],
];
/** Fields that describe the page itself. */
const remarks: readonly string[] = [
  ...["author", "category", "tags", "version", "title", "license", "created", "updated", "complexity", "examples"],
  ...["usage", "color", "priority", "type", "mode", "tools", "id", "status", "namespace", "aliases"],
];
const knownKeys: ReadonlySet<string> = new Set([...known, ...foreign, ...remarks]);

/** `file` is used only in diagnostics. A page without text defines no command. */
export function parseCommandPage(bytes: Uint8Array, file: string): ParsedPage {
  const diagnostics: CommandDiagnostic[] = [];
  const note = (level: CommandDiagnostic["level"], line: number | null, message: string) =>
    void diagnostics.push({ level, file, line, message });
  const source = new TextDecoder().decode(bytes);
  if (source.includes("\uFFFD")) note("warning", null, "contains bytes that are not UTF-8 text");
  const { fields, body: text, repairs, fault, lineOf } = readPageFields(quoteHint(source), knownKeys);
  if (fault !== null) note("warning", fault.line, `its fields are not used: ${fault.message}`);
  for (const { line, message } of repairs) note("info", line, message);
  for (const key of Object.keys(fields)) {
    if (known.includes(key) || remarks.includes(key)) continue;
    if (foreign.includes(key)) note("info", lineOf(key), `"${key}" has no effect here: the agent keeps its own rights`);
    else note("warning", lineOf(key), `no field "${key}"${didYouMean(key, known)}`);
  }
  const told = (key: string): string | null => {
    const value = fields[key];
    if (value === undefined || value === null) return null;
    if (typeof value === "string" || typeof value === "number") return String(value).trim() || null;
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.join(" ") || null;
    note("warning", lineOf(key), `${key}: expected text`);
    return null;
  };
  const said = told("description");
  const body = text.trim() || (said ?? "");
  if (body === "") {
    note("error", null, "expected a text for the agent below the fields");
    return { page: null, diagnostics };
  }
  if (text.trim() === "")
    note("warning", null, "expected a text below the fields; the description is sent to the agent");
  if (/(?:^|\s)!`[^`]+`/.test(body)) note("info", null, "!`…` is not run here; the agent gets it as it is written");
  const description = (said ?? firstLine(body)).replace(/\s+/g, " ").slice(0, maxDescription);
  return { page: { description, argumentHint: told("argument-hint"), body }, diagnostics };
}

/** `argument-hint: [file] [line]` is not valid YAML, but is what most authors write. */
function quoteHint(text: string): string {
  const end = text.indexOf("\n---", 3);
  if (!text.startsWith("---") || end === -1) return text;
  const header = text.slice(0, end);
  const quoted = header.replace(
    /^(argument-hint:[ \t]+)([[<].*?)[ \t\r]*$/m,
    (_, key: string, hint: string) => `${key}${JSON.stringify(hint)}`,
  );
  return quoted + text.slice(end);
}

function firstLine(body: string): string {
  const line = body.split("\n").find((candidate) => candidate.trim() !== "") ?? "";
  return line.replace(/^#+\s*/, "").trim();
}
