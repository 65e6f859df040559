/** Reads and updates YAML frontmatter. Reports the line of each problem and preserves comments and order. */
import { Document, isMap, isScalar, LineCounter, parseDocument } from "yaml";

export type FrontmatterProblem = {
  /** Counts from 1, in the whole text. */
  line: number;
  message: string;
  /** True if the fields are unreadable. False if they were read despite this problem. */
  fatal: boolean;
  /** The field whose value may differ from what its author meant. */
  key?: string;
};

/** Far longer than any real frontmatter, and short enough that parsing any content of this length is fast. */
const maxFrontmatterLength = 32 * 1024;
const maxAliasCount = 100;
const maxNesting = 64;

/** Creates a new text. Undefined fields are omitted. */
export function writeFrontmatter(fields: Readonly<Record<string, unknown>>, body: string): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return join(new Document(Object.fromEntries(given)), `\n${body.trim()}\n`, "\n");
}

/**
 * Returns the text with some fields changed (undefined removes a field). Comments, order and body are preserved. Throws
 * if the existing fields are unreadable.
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

/** Returns null if there is no frontmatter. */
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

/** Detects input that the YAML parser would take too long to parse. */
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

type Header = {
  /** Plain data; empty if the fields are unreadable. Only own keys count. */
  fields: Readonly<Record<string, unknown>>;
  problems: FrontmatterProblem[];
  /** The line of a field, or the line before the header if the field is absent. */
  lineOf(key: string): number;
};

/** Reads the fields of a header. `header` is the number of lines before it. Never throws. */
export function readFields(yaml: string, header: number): Header {
  const quick = readQuickHeader(yaml);
  if (quick === null) return readYaml(yaml, header);
  return { fields: quick.fields, problems: [], lineOf: (key) => header + (quick.lines.get(key) ?? 0) };
}

/** Same as `readFields`, but always uses the YAML parser. */
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
        problems.push({ line, message: `expected "${name}" once; the last one counts`, fatal: false, key: name });
      places.set(name, line);
    }
    const fields = document.toJS({ maxAliasCount }) as Record<string, unknown>;
    // A recursive alias creates cyclic data, which callers do not expect. `JSON.stringify` throws on it.
    if (yaml.includes("*")) JSON.stringify(fields);
    return { fields, problems, lineOf: (key) => places.get(key) ?? header };
  } catch (error) {
    // Excessive alias expansion and excessive nesting are reported here.
    return nothing(fatal(header, `not valid YAML: ${error instanceof Error ? error.message : String(error)}`));
  }
}

function join(document: Document, body: string, lineEnd: string): string {
  const yaml = document.toString({ lineWidth: 0, flowCollectionPadding: false });
  return `---\n${yaml}---\n`.replaceAll("\n", lineEnd) + body;
}

function fatal(line: number, message: string): FrontmatterProblem {
  return { line, message, fatal: true };
}

type QuickHeader = { fields: Record<string, unknown>; lines: ReadonlyMap<string, number> };

type Line = { indent: number; text: string; number: number };

class NotSure extends Error {}

const notSure = new NotSure("not a plain header");

/**
 * Reads the simple headers that nearly all skills and agents have, about twenty times faster than a YAML parser. Returns
 * null for any input that it is not sure about. Everything it accepts, it reads exactly as YAML 1.2.
 */
export function readQuickHeader(yaml: string): QuickHeader | null {
  const lines: Line[] = [];
  let number = 0;
  for (const raw of yaml.split("\n")) {
    number += 1;
    // YAML treats other whitespace characters differently.
    if (/[^\S ]/.test(raw)) return null;
    const text = raw.trimEnd();
    if (text === "") continue;
    const indent = text.length - text.trimStart().length;
    if (text.charAt(indent) === "#") return null;
    lines.push({ indent, text: text.slice(indent), number });
  }
  if (lines.length === 0 || number > 500) return null;
  try {
    const reader = new Reader(lines);
    const fields = reader.map(0, 0);
    return reader.done ? { fields, lines: reader.places } : null;
  } catch (error) {
    if (error instanceof NotSure) return null;
    throw error;
  }
}

const pair = /^([A-Za-z_][\w-]*):(?: +(\S.*))?$/;
const deepest = 12;

class Reader {
  readonly #lines: readonly Line[];
  #at = 0;
  readonly places = new Map<string, number>();

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
  }

  get done(): boolean {
    return this.#at === this.#lines.length;
  }

  map(indent: number, depth: number): Record<string, unknown> {
    if (depth > deepest) throw notSure;
    const fields: Record<string, unknown> = {};
    for (let line = this.#next(indent); line !== null; line = this.#next(indent)) {
      const [, key, value] = pair.exec(line.text) ?? [];
      if (key === undefined || key === "__proto__" || Object.hasOwn(fields, key)) throw notSure;
      if (depth === 0) this.places.set(key, line.number);
      this.#at += 1;
      fields[key] = value === undefined ? this.#block(indent, depth) : this.#value(value, indent);
    }
    return fields;
  }

  /** Returns the current line if it has exactly this indentation, or null if the block has ended. */
  #next(indent: number): Line | null {
    const line = this.#lines[this.#at];
    if (line === undefined || line.indent < indent) return null;
    if (line.indent > indent) throw notSure;
    return line;
  }

  #block(indent: number, depth: number): unknown {
    const line = this.#lines[this.#at];
    if (line === undefined || line.indent < indent) return null;
    const isList = line.text.startsWith("- ");
    if (line.indent === indent && !isList) return null;
    return isList ? this.#list(line.indent) : this.map(line.indent, depth + 1);
  }

  #list(indent: number): unknown[] {
    const items: unknown[] = [];
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      if (!line.text.startsWith("- ")) break;
      const item = line.text.slice(2).trimStart();
      if (pair.test(item) || item.startsWith("- ")) throw notSure;
      this.#at += 1;
      items.push(this.#value(item, indent));
    }
    return items;
  }

  /** A value that ends with its line. */
  #value(text: string, indent: number): unknown {
    const following = this.#lines[this.#at];
    if (following !== undefined && following.indent > indent) throw notSure;
    const first = text.charAt(0);
    if (first === '"') return json(text);
    if (first === "'") {
      if (!/^'[^']*'$/.test(text)) throw notSure;
      return text.slice(1, -1);
    }
    if (first === "[" || first === "{") return flow(text);
    return plain(text);
  }
}

/** JSON is valid YAML if no key occurs twice. */
function json(text: string): unknown {
  // JSON and YAML escapes differ.
  if (text.includes("\\")) throw notSure;
  try {
    return JSON.parse(text);
  } catch {
    throw notSure;
  }
}

function flow(text: string): unknown {
  const words = /^\[ *([\w./-]+(?: *, *[\w./-]+)*) *\]$/.exec(text)?.[1];
  if (words !== undefined) return words.split(",").map((word) => plain(word.trim()));
  if (text === "[]") return [];
  // `JSON.parse` would not create an ordinary field with this name.
  if (text.includes("__proto__")) throw notSure;
  return json(text);
}

function plain(text: string): unknown {
  if (!/^[A-Za-z(/<$^~.=;\u00A1-\uFFFF\d+-]/.test(text) || /: |:$| #/.test(text)) throw notSure;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  if (/^(?:null|Null|NULL|~)$/.test(text)) return null;
  if (/^(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(text)) return Number(text);
  if (/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z)?$/.test(text)) return text;
  // Other numbers have many spellings, and dashes and dots have meanings of their own in YAML.
  if (/^[-+.\d]/.test(text) && !/^\d+\.\d+\.\d[\w.-]*$/.test(text)) throw notSure;
  return text;
}
