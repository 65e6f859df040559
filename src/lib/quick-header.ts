/**
 * Reads the simple headers that nearly all skills and agents have, about twenty times faster than a YAML parser. It
 * gives up on any input that it is not sure about. Everything it accepts, it reads exactly as YAML 1.2.
 */

export type QuickHeader = { fields: Record<string, unknown>; lines: ReadonlyMap<string, number> };

type Line = { indent: number; text: string; number: number };

class NotSure extends Error {}

const notSure = new NotSure("not a plain header");

/** Returns null if the header needs a YAML parser. */
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
