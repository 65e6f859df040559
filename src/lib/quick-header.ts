/**
 * Reads the plain headers that nearly all skills and agents have, twenty times as fast as a whole YAML parser. It gives up at the
 * first thing it is not sure of; what it does read, it reads exactly as YAML 1.2 would.
 */

export type QuickHeader = { fields: Record<string, unknown>; lines: ReadonlyMap<string, number> };

type Line = { indent: number; text: string; number: number };

class NotSure extends Error {}

const notSure = new NotSure("not a plain header");

/** Null when only a YAML parser can tell. */
export function readQuickHeader(yaml: string): QuickHeader | null {
  const lines: Line[] = [];
  let number = 0;
  for (const raw of yaml.split("\n")) {
    number += 1;
    // Blanks of other kinds mean something to YAML, and not the same to us.
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

  /** The line here when it stands exactly so far in; null when the block is over. */
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

/** JSON is YAML, as long as no key comes twice. */
function json(text: string): unknown {
  // Escapes are not the same in both.
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
  // A key of this name would not become a field.
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
  // Other numbers have many spellings, and dashes and dots have meanings of their own.
  if (/^[-+.\d]/.test(text) && !/^\d+\.\d+\.\d[\w.-]*$/.test(text)) throw notSure;
  return text;
}
