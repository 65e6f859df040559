/** One command as a page of Markdown: what it is for above, what is said to the agent below. */
import type { CommandDiagnostic } from "../../contract/command.ts";
import { parseFrontmatter } from "../../lib/frontmatter.ts";
import { didYouMean } from "../../lib/nearest.ts";

export type CommandPage = { description: string; argumentHint: string | null; body: string };

export type ParsedPage = { page: CommandPage | null; diagnostics: CommandDiagnostic[] };

const maxDescription = 200;

const known: readonly string[] = ["description", "argument-hint"];
/** Fields of Claude Code that change how its own session runs. */
const foreign: readonly string[] = [
  ...["allowed-tools", "disallowed-tools", "model", "effort", "agent", "context", "hooks", "paths", "shell"],
  ...["name", "when_to_use", "arguments", "disable-model-invocation", "user-invocable"],
];

/** `file` is only named in what is found wrong. A page without text leaves no command. */
export function parseCommandPage(bytes: Uint8Array, file: string): ParsedPage {
  const diagnostics: CommandDiagnostic[] = [];
  const note = (level: CommandDiagnostic["level"], line: number | null, message: string) =>
    void diagnostics.push({ level, file, line, message });
  const { fields, body: text, problems, lineOf } = parseFrontmatter(quoteHint(new TextDecoder().decode(bytes)));
  for (const { line, message, fatal } of problems)
    note(fatal ? "warning" : "info", line, fatal ? `its fields are not used: ${message}` : message);
  for (const key of Object.keys(fields)) {
    if (known.includes(key)) continue;
    if (foreign.includes(key)) note("info", lineOf(key), `"${key}" has no effect here: the agent keeps its own rights`);
    else note("warning", lineOf(key), `no field "${key}"${didYouMean(key, known)}`);
  }
  const told = (key: string): string | null => {
    const value = fields[key];
    if (value === undefined || value === null) return null;
    if (typeof value === "string" || typeof value === "number") return String(value).trim() || null;
    note("warning", lineOf(key), `${key}: expected text`);
    return null;
  };
  const body = text.trim();
  if (body === "") {
    note("error", null, "expected a text to say to the agent below the fields");
    return { page: null, diagnostics };
  }
  if (/(?:^|\s)!`[^`]+`/.test(body)) note("info", null, "!`…` is not run here; the agent gets it as it is written");
  const description = (told("description") ?? firstLine(body)).replace(/\s+/g, " ").slice(0, maxDescription);
  return { page: { description, argumentHint: told("argument-hint"), body }, diagnostics };
}

/** `argument-hint: [file] [line]` is no YAML, but what everybody writes. */
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
