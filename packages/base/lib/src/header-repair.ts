/**
 * Reads the header of a page as its author meant it. Tries strict YAML first, then applies repairs one after another
 * until the result is usable, and reports each repair. Gives up only if the header swallowed the page below it.
 */
import { readFields, readYaml, tooMuch } from "./frontmatter.ts";

export type Repair = {
  line: number;
  message: string;
  /** The field whose value was guessed; null if the repair keeps what the author wrote. */
  key: string | null;
};

export type HeaderFields = {
  fields: Readonly<Record<string, unknown>>;
  repairs: Repair[];
  lineOf(key: string): number;
};

export type HeaderFault = { fault: Omit<Repair, "key"> };

/**
 * `before` is the number of lines above the header. `known` contains the keys that start a field even if the
 * surrounding text is not valid YAML. Never throws.
 */
export function readHeader(yaml: string, before: number, known: ReadonlySet<string>): HeaderFields | HeaderFault {
  const header = readAsWritten(yaml, before, known);
  return "fault" in header ? header : inKnownKeys(header, known);
}

/**
 * `Description` and `allowed_tools` are misspellings of known keys. Without this correction, a limit that the author
 * wrote would have no effect.
 */
function inKnownKeys(header: HeaderFields, known: ReadonlySet<string>): HeaderFields {
  const fields: Record<string, unknown> = {};
  const repairs = [...header.repairs];
  const written = new Map<string, string>();
  for (const [key, value] of Object.entries(header.fields)) {
    const meant = known.has(key)
      ? key
      : ([key.trim().toLowerCase(), hyphened(key)].find((one) => known.has(one)) ?? key);
    const isTaken = meant !== key && Object.hasOwn(header.fields, meant);
    fields[isTaken ? key : meant] = value;
    if (meant === key || isTaken) continue;
    written.set(meant, key);
    repairs.push({
      line: header.lineOf(key),
      message: `expected ${meant}, found ${key.slice(0, 40)}; it was read as that`,
      key: null,
    });
  }
  if (written.size === 0) return header;
  return { fields, repairs, lineOf: (key) => header.lineOf(written.get(key) ?? key) };
}

function hyphened(key: string): string {
  return key.trim().toLowerCase().replace(/[ _]+/g, "-");
}

function readAsWritten(yaml: string, before: number, known: ReadonlySet<string>): HeaderFields | HeaderFault {
  const fault = tooMuch(yaml);
  if (fault !== null) return { fault: { line: before, message: fault.message } };
  const strict = attempt(yaml, before, []);
  if (strict !== null) return strict;
  const swallowed = bodyLine(yaml);
  if (swallowed !== null)
    return {
      fault: { line: before + swallowed, message: "expected a --- line that ends the header before the text begins" },
    };
  const straight = straighten(yaml);
  const repairs = straight.repairs.map(atLine(before));
  const straightened = repairs.length > 0 ? attempt(straight.yaml, before, repairs) : null;
  if (straightened !== null) return straightened;
  const quoted = quoteRisky(straight.yaml, isFlow);
  const all = [...repairs, ...quoted.repairs.map(atLine(before))];
  return attempt(quoted.yaml, before, all) ?? bySegments(straight.yaml, before, repairs, known);
}

function atLine(before: number) {
  return (repair: Repair): Repair => ({ ...repair, line: before + repair.line });
}

function attempt(yaml: string, before: number, repairs: readonly Repair[]): HeaderFields | null {
  const { fields, problems, lineOf } = readFields(yaml, before);
  if (problems.some((problem) => problem.fatal)) return null;
  const more = problems.map(({ line, message, key }) => ({ line, message, key: key ?? null }));
  return { fields, repairs: [...repairs, ...more], lineOf };
}

function isFlow(value: string): boolean {
  return !readYaml(`value: ${value}`, 0).problems.some((problem) => problem.fatal);
}

/** Returns the line of a heading or fence after a blank line. An invalid header that contains one has no end. */
function bodyLine(yaml: string): number | null {
  const lines = yaml.split("\n");
  const at = lines.findIndex(
    (line, index) => (lines[index - 1] ?? "x").trim() === "" && /^(?:#{1,6} \S|```)/.test(line),
  );
  return at === -1 ? null : at + 1;
}

type Segment = { key: string; line: number; text: string[] };

/** Treats each known key and the text up to the next known key as one field. Unreadable values become text. */
function bySegments(
  yaml: string,
  before: number,
  repairs: readonly Repair[],
  known: ReadonlySet<string>,
): HeaderFields {
  const fields: Record<string, unknown> = {};
  const notes = [...repairs];
  const places = new Map<string, number>();
  for (const segment of segmentsOf(yaml, known)) {
    const line = before + segment.line;
    const { key } = segment;
    // A line of text above may look like a field.
    if (places.has(key)) notes.push({ line, message: `expected "${key}" once; the last one counts`, key });
    places.set(key, line);
    const text = segment.text.join("\n");
    const quoted = quoteRisky(text, isFlow);
    const read = fieldIn(text, key) ?? fieldIn(quoted.yaml, key);
    if (read !== null) {
      fields[key] = read.value;
      for (const repair of fieldIn(text, key) === null ? quoted.repairs : [])
        notes.push({ ...repair, line: line + repair.line - 1 });
      continue;
    }
    const nested = key === "metadata" || key === "hooks" || key === "requires";
    // A field that may declare requirements keeps its text: an unreadable requirement must not look like no
    // requirement.
    fields[key] = key === "hooks" ? undefined : nested ? text : asText(segment);
    const what = nested ? "cannot be read and was left out" : "is not YAML; it was taken as text up to the next field";
    notes.push({ line, message: `${key}: ${what}`, key });
  }
  if (places.size === 0 && yaml.trim() !== "")
    notes.push({ line: before, message: "nothing between the --- lines could be read as fields", key: null });
  return { fields, repairs: notes, lineOf: (key) => places.get(key) ?? before };
}

function segmentsOf(yaml: string, known: ReadonlySet<string>): Segment[] {
  const segments: Segment[] = [];
  for (const [index, line] of yaml.split("\n").entries()) {
    const key = /^["']?([A-Za-z][\w-]*)["']?[ \t]*:(?=\s|$|["'[{])/.exec(line)?.[1] ?? "";
    if (known.has(key)) segments.push({ key, line: index + 1, text: [line] });
    else segments.at(-1)?.text.push(line);
  }
  return segments;
}

function fieldIn(yaml: string, key: string): { value: unknown } | null {
  const { fields, problems } = readYaml(yaml, 0);
  if (problems.some((problem) => problem.fatal) || !Object.hasOwn(fields, key)) return null;
  // Lines without a known key that YAML parsed as keys belong to the text.
  return Object.keys(fields).length === 1 ? { value: fields[key] } : null;
}

function asText({ key, text }: Segment): string {
  const [first = "", ...rest] = text;
  const value = first.slice(first.indexOf(":", key.length) + 1).trim();
  const lines = /^[|>][+-]?\d?$/.test(value) ? rest : [value, ...rest];
  const joined = lines
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
  return joined.replace(/^(["'])(.*)\1$/s, "$2");
}

type Repaired = { yaml: string; repairs: Repair[] };

/** Repairs keep the line numbers. Replaces tabs with spaces. For an unresolved merge conflict, keeps the first side. */
function straighten(yaml: string): Repaired {
  const repairs: Repair[] = [];
  let side: "none" | "ours" | "theirs" = "none";
  const lines = yaml.split("\n").map((line, index) => {
    const note = (message: string) => repairs.push({ line: index + 1, message, key: null });
    if (/^<{7}(?: |$)/.test(line)) {
      side = "ours";
      note("an unfinished merge: the first of the two sides is taken");
      return "";
    }
    if (side === "ours" && /^(?:={7}|\|{7}.*)$/.test(line)) {
      side = "theirs";
      return "";
    }
    if (side === "theirs") {
      if (/^>{7}(?: |$)/.test(line)) side = "none";
      return "";
    }
    if (!/^ *\t|^[ \t]*[\w"'-]+:\t/.test(line)) return line;
    note("expected spaces, found a tab");
    return line.replace(/^[ \t]+/, (blank) => blank.replaceAll("\t", "  ")).replace(/^( *[\w"'-]+:)\t+/, "$1 ");
  });
  return { yaml: lines.join("\n"), repairs };
}

const field = /^([ ]*(?:- )?["']?[A-Za-z_][\w .-]*["']?:[ ]+)(\S.*?)[ ]*$/;

/** Quotes unquoted values that are not valid YAML. Converts a comma-separated list on one line to a YAML list. */
function quoteRisky(yaml: string, isFlow: (value: string) => boolean): Repaired {
  const repairs: Repair[] = [];
  /** Lines indented deeper than this belong to a text block. */
  let block = -1;
  const lines = yaml.split("\n").map((line, index) => {
    const indent = line.length - line.trimStart().length;
    if (block >= 0 && (line.trim() === "" || indent > block)) return line;
    block = /:[ ]+[|>][+-]?\d?[ ]*(?:#.*)?$/.test(line) ? indent : -1;
    const [, key, value] = field.exec(line) ?? [];
    if (key === undefined || value === undefined || block >= 0) return line;
    const repaired = repairValue(value, isFlow);
    if (repaired === null) return line;
    const name = /^["']?([\w-]+)/.exec(key)?.[1] ?? null;
    repairs.push({ line: index + 1, message: repaired.message, key: repaired.guessed ? name : null });
    return key + repaired.text;
  });
  return { yaml: lines.join("\n"), repairs };
}

type RepairedValue = {
  text: string;
  message: string;
  /** The author meant a value other than text, and it is unreadable. */
  guessed: boolean;
};

function repairValue(value: string, isFlow: (value: string) => boolean): RepairedValue | null {
  if (/^- ?\S/.test(value)) {
    const items = value.split(/(?:^|,? +)- ?/).filter((item) => item !== "");
    return {
      text: JSON.stringify(items),
      message: "expected each item of the list on a line of its own",
      guessed: false,
    };
  }
  const text = JSON.stringify(value.replace(/^(["'])(.*)\1$/, "$2"));
  if (/^[[{]/.test(value))
    return isFlow(value)
      ? null
      : { text, message: "looks like a list or a map but is none; it was taken as text", guessed: true };
  if (/^["']/.test(value))
    return isFlow(value)
      ? null
      : { text, message: "the quotes do not enclose the whole value; it was taken as text", guessed: true };
  if (!/: |:$| #|^[*&!%@`|>?,]|^-$/.test(value)) return null;
  const message = "expected quotes around a value with special characters; it was taken as text";
  return { text, message, guessed: false };
}
