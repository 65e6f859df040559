/**
 * Reads the header of a skill as its author meant it. Strict YAML first; then one repair after the other, each of them
 * told, until something usable comes out. Only a header that swallowed the page below it is given up.
 */
import { readFields, readYaml, tooMuch } from "../../lib/frontmatter.ts";
import { quoteRisky, straighten } from "./repair-lines.ts";

export type Repair = { line: number; message: string };

export type HeaderFields = {
  fields: Readonly<Record<string, unknown>>;
  repairs: Repair[];
  lineOf(key: string): number;
};

export type HeaderFault = { fault: Repair };

/** Keys that begin a field even where the text around them is no YAML. */
const knownKeys = new Set([
  ...["name", "description", "when_to_use", "when-to-use", "argument-hint", "arguments", "disable-model-invocation"],
  ...["user-invocable", "allowed-tools", "disallowed-tools", "model", "effort", "context", "agent", "background"],
  ...["hooks", "paths", "shell", "metadata", "license", "compatibility", "homepage", "version", "author", "tags"],
  ...["keywords", "triggers", "category", "emoji", "command-dispatch", "command-tool", "command-arg-mode", "summary"],
  ...["read_when", "title", "tools", "language", "requires", "os", "always", "install", "created", "updated", "slug"],
]);

/** `before` is how many lines of the file stand above the header. Never throws. */
export function readHeader(yaml: string, before: number): HeaderFields | HeaderFault {
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
  return attempt(quoted.yaml, before, all) ?? bySegments(straight.yaml, before, repairs);
}

function atLine(before: number) {
  return ({ line, message }: Repair): Repair => ({ line: before + line, message });
}

function attempt(yaml: string, before: number, repairs: readonly Repair[]): HeaderFields | null {
  const { fields, problems, lineOf } = readFields(yaml, before);
  if (problems.some((problem) => problem.fatal)) return null;
  return { fields, repairs: [...repairs, ...problems.map(({ line, message }) => ({ line, message }))], lineOf };
}

function isFlow(value: string): boolean {
  return !readYaml(`value: ${value}`, 0).problems.some((problem) => problem.fatal);
}

/** The line of a heading or a fence behind a blank line: a header that is no YAML and holds one has no end. */
function bodyLine(yaml: string): number | null {
  const lines = yaml.split("\n");
  const at = lines.findIndex(
    (line, index) => (lines[index - 1] ?? "x").trim() === "" && /^(?:#{1,6} \S|```)/.test(line),
  );
  return at === -1 ? null : at + 1;
}

type Segment = { key: string; line: number; text: string[] };

/** Each known key with everything up to the next one is a field of its own; what cannot be read in it is text. */
function bySegments(yaml: string, before: number, repairs: readonly Repair[]): HeaderFields {
  const fields: Record<string, unknown> = {};
  const notes = [...repairs];
  const places = new Map<string, number>();
  for (const segment of segmentsOf(yaml)) {
    const line = before + segment.line;
    const { key } = segment;
    places.set(key, line);
    const text = segment.text.join("\n");
    const quoted = quoteRisky(text, isFlow);
    const read = fieldIn(text, key) ?? fieldIn(quoted.yaml, key);
    if (read !== null) {
      fields[key] = read.value;
      for (const repair of fieldIn(text, key) === null ? quoted.repairs : [])
        notes.push({ line: line + repair.line - 1, message: repair.message });
      continue;
    }
    const nested = key === "metadata" || key === "hooks" || key === "requires";
    fields[key] = nested ? undefined : asText(segment);
    const what = nested ? "cannot be read and was left out" : "is no YAML; it was taken as text up to the next field";
    notes.push({ line, message: `${key}: ${what}` });
  }
  return { fields, repairs: notes, lineOf: (key) => places.get(key) ?? before };
}

function segmentsOf(yaml: string): Segment[] {
  const segments: Segment[] = [];
  for (const [index, line] of yaml.split("\n").entries()) {
    const key = /^["']?([A-Za-z][\w-]*)["']?[ \t]*:(?=\s|$|["'[{])/.exec(line)?.[1] ?? "";
    if (knownKeys.has(key)) segments.push({ key, line: index + 1, text: [line] });
    else segments.at(-1)?.text.push(line);
  }
  return segments;
}

function fieldIn(yaml: string, key: string): { value: unknown } | null {
  const { fields, problems } = readYaml(yaml, 0);
  if (problems.some((problem) => problem.fatal) || !Object.hasOwn(fields, key)) return null;
  // Lines without a key of ours that became keys of their own belong to the text.
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
