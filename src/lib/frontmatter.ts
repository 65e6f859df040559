/** Markdown that begins with YAML between two `---` lines: read with the place of each fault, written back unharmed. */
import { Document, isMap, isScalar, LineCounter, parseDocument } from "yaml";
import { readQuickHeader } from "./quick-header.ts";

export type FrontmatterProblem = {
  /** Counts from 1, in the whole text. */
  line: number;
  message: string;
  /** True when the fields could not be read; otherwise they were, and this says how. */
  fatal: boolean;
};

export type Frontmatter = {
  /** False when the text does not begin with a `---` line: then all of it is body. */
  present: boolean;
  /** Plain data, empty when it could not be read. Only own keys count. */
  fields: Readonly<Record<string, unknown>>;
  body: string;
  problems: FrontmatterProblem[];
  /** The line of a field; the first line for one that is not there. */
  lineOf(key: string): number;
};

/** Far more than any author writes, and little enough to be read in no time whatever it holds. */
export const maxFrontmatterLength = 32 * 1024;
const maxAliasCount = 100;
const maxNesting = 64;

/**
 * Never throws for what the text holds. Values that people forget to quote (`description: Use it so: always`) are taken
 * as the text they were meant to be, with a problem that says so.
 */
export function parseFrontmatter(text: string): Frontmatter {
  const parts = split(text);
  if (parts === null) return { present: false, fields: {}, body: text, problems: [], lineOf: () => 1 };
  const read = (yaml: string) => readFields(yaml, parts.header);
  const { body } = parts;
  if (parts.fault !== null) return { present: true, fields: {}, body, problems: [parts.fault], lineOf: () => 1 };
  const plain = read(parts.yaml);
  if (!plain.problems.some((problem) => problem.fatal)) return { present: true, body, ...plain };
  const quoted = quoteValues(parts.yaml);
  const repaired = quoted.lines.length === 0 ? plain : read(quoted.yaml);
  if (repaired.problems.some((problem) => problem.fatal)) return { present: true, body, ...plain };
  const notes = quoted.lines.map((line) => ({
    line: parts.header + line,
    message: "expected quotes around a value with special characters; it was taken as plain text",
    fatal: false,
  }));
  return { present: true, body, ...repaired, problems: [...notes, ...repaired.problems] };
}

/** A new text. Fields that are undefined are left out. */
export function writeFrontmatter(fields: Readonly<Record<string, unknown>>, body: string): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return join(new Document(Object.fromEntries(given)), `\n${body.trim()}\n`, "\n");
}

/**
 * The text with some fields changed (undefined removes one); comments, order and body stay. Throws when the fields it
 * has cannot be read.
 */
export function updateFrontmatter(text: string, changes: Readonly<Record<string, unknown>>, body?: string): string {
  const parts = split(text);
  if (parts === null) return writeFrontmatter(changes, body ?? text);
  const document = parseDocument(parts.yaml, { stringKeys: true, logLevel: "error" });
  const [error] = document.errors;
  if (parts.fault !== null) throw new Error(parts.fault.message);
  if (error !== undefined) throw error;
  for (const [key, value] of Object.entries(changes))
    if (value === undefined) document.delete(key);
    else document.set(key, value);
  const lineEnd = /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
  return join(document, body === undefined ? parts.body : `${lineEnd}${body.trim()}${lineEnd}`, lineEnd);
}

type Parts = { yaml: string; body: string; header: number; fault: FrontmatterProblem | null };

/** Null when there is no frontmatter. */
function split(text: string): Parts | null {
  const start = text.startsWith("\uFEFF") ? 1 : 0;
  const first = endOfLine(text, start);
  if (text.slice(start, first).trimEnd() !== "---") return null;
  for (let at = first + 1; at < text.length; ) {
    const end = endOfLine(text, at);
    const line = text.slice(at, end).trimEnd();
    if (line === "---" || line === "...") {
      const yaml = text.slice(first + 1, at);
      return { yaml, body: text.slice(end + 1), header: 1, fault: tooMuch(yaml) };
    }
    at = end + 1;
  }
  return { yaml: "", body: "", header: 1, fault: fatal(1, "expected a second --- line that ends the fields") };
}

/** What the parser would take long over, found before it begins. */
export function tooMuch(yaml: string): FrontmatterProblem | null {
  if (yaml.length > maxFrontmatterLength)
    return fatal(1, `expected at most ${maxFrontmatterLength} characters between the --- lines, found ${yaml.length}`);
  let depth = 0;
  for (const [mark] of yaml.matchAll(/[[\]{}]|(?:- ){4}/g)) {
    depth = mark === "]" || mark === "}" ? Math.max(0, depth - 1) : depth + 1;
    if (depth > maxNesting) return fatal(1, "expected simple fields, found values nested too deeply");
  }
  return null;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end === -1 ? text.length : end;
}

type Header = Pick<Frontmatter, "fields" | "problems" | "lineOf">;

/** The fields of a header alone. `header` is how many lines stand before it. Never throws. */
export function readFields(yaml: string, header: number): Header {
  const quick = readQuickHeader(yaml);
  if (quick === null) return readYaml(yaml, header);
  return { fields: quick.fields, problems: [], lineOf: (key) => header + (quick.lines.get(key) ?? 0) };
}

/** The same by the whole of YAML alone. */
export function readYaml(yaml: string, header: number): Header {
  const lines = new LineCounter();
  const lineAt = (offset: number) => header + Math.max(lines.linePos(offset).line, 1);
  const nothing = (problem: FrontmatterProblem) => ({ fields: {}, problems: [problem], lineOf: () => header });
  try {
    const document = parseDocument(yaml, {
      stringKeys: true,
      prettyErrors: false,
      uniqueKeys: false,
      logLevel: "error",
      lineCounter: lines,
    });
    const [error] = document.errors;
    if (error !== undefined)
      return nothing(fatal(lineAt(error.pos[0]), `not valid YAML: ${error.message.replace(/\.$/, "")}`));
    const { contents } = document;
    if (contents === null) return { fields: {}, problems: [], lineOf: () => header };
    if (!isMap(contents)) return nothing(fatal(header + 1, "expected fields such as `name: reviewer`"));
    const places = new Map<string, number>();
    const problems: FrontmatterProblem[] = [];
    for (const { key } of contents.items) {
      if (!isScalar(key)) continue;
      const name = String(key.value);
      const line = lineAt(key.range?.[0] ?? 0);
      if (places.has(name))
        problems.push({ line, message: `expected "${name}" once; the last one counts`, fatal: false });
      places.set(name, line);
    }
    const fields = document.toJS({ maxAliasCount }) as Record<string, unknown>;
    // An alias inside what it names makes data without end, which nobody after us expects.
    if (yaml.includes("*")) JSON.stringify(fields);
    return { fields, problems, lineOf: (key) => places.get(key) ?? header };
  } catch (error) {
    // Aliases that unfold without end and values nested without end are told this way.
    return nothing(fatal(header, `not valid YAML: ${error instanceof Error ? error.message : String(error)}`));
  }
}

/** Quotes what stands unquoted after a key and holds what YAML takes for syntax. */
function quoteValues(yaml: string): { yaml: string; lines: number[] } {
  const lines: number[] = [];
  const quoted = yaml.split("\n").map((text, index) => {
    const match = /^([A-Za-z_][\w-]*:[ \t]+)([^\s"'[{|>&!#].*?)([ \t]*\r?)$/.exec(text);
    const [, key, value, end] = match ?? [];
    if (key === undefined || value === undefined || !/: |:$| #|^[*@`%]/.test(value)) return text;
    lines.push(index + 1);
    return `${key}${JSON.stringify(value)}${end ?? ""}`;
  });
  return { yaml: quoted.join("\n"), lines };
}

function join(document: Document, body: string, lineEnd: string): string {
  const yaml = document.toString({ lineWidth: 0, flowCollectionPadding: false });
  return `---\n${yaml}---\n`.replaceAll("\n", lineEnd) + body;
}

function fatal(line: number, message: string): FrontmatterProblem {
  return { line, message, fatal: true };
}
