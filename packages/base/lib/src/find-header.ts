/**
 * Finds the header of a page that does not use two `---` lines at the top. Every strategy requires a known key directly
 * after the marker, so that ordinary text is not mistaken for a header.
 */
import type { Repair } from "./header-repair.ts";
import { type Page, splitPage } from "./page-header.ts";

export type FoundHeader = { page: Page; repairs: Repair[] };

/** A page may start with a title, a comment or the fence of the example it was copied from. */
const longestPreface = 2_000;

/** What some authors write instead of the second `---` line. */
const otherEnd = /^[ \t]*(?:-{2,}|\.{3}|[\u2013\u2014]-{0,2}|\*{3}|_{3}|\+{3}|```+|~~~+)[ \t]*$/;

/** `known` contains the valid keys of such pages. Never throws. */
export function findHeader(text: string, known: ReadonlySet<string>): FoundHeader {
  const page = splitPage(text);
  if (page.kind === "header") return { page, repairs: [] };
  const lines = (page.kind === "bare" ? page.body : linesOf(text)).split("\n");
  const isField = fieldTest(known);
  const open = page.kind === "open" ? { at: page.line - 1, mark: "---" } : findOpening(lines, isField);
  if (open === null) return { page, repairs: [] };
  const found = close(lines, open, isField);
  return found ?? { page, repairs: [] };
}

type Opening = {
  /** The line of the marker; -1 if the fields start immediately. */
  at: number;
  mark: string;
};

type IsField = (line: string | undefined) => boolean;

function fieldTest(known: ReadonlySet<string>): IsField {
  return (line) => {
    const key = /^[ \t]*["']?([A-Za-z][\w-]*)["']?[ \t]*[:=]/.exec(line ?? "")?.[1];
    return key !== undefined && (known.has(key) || known.has(key.toLowerCase()));
  };
}

function findOpening(lines: readonly string[], isField: IsField): Opening | null {
  let length = 0;
  let remark = false;
  for (const [at, line] of lines.entries()) {
    length += line.length + 1;
    if (length > longestPreface) return null;
    if (remark || /^\s*<!--/.test(line)) {
      remark = !line.includes("-->");
      continue;
    }
    const mark = /^[ \t]*(---(?=[ \t]*$)|\+{3}(?=[ \t]*$)|`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined && isField(lines[at + 1])) return { at, mark };
    if (at === firstText(lines) && isField(line)) return { at: at - 1, mark: "" };
    // Titles and an opening fence may precede the header; prose means that the page has no header.
    if (!/^\s*(?:$|#|```|~~~)/.test(line)) return null;
  }
  return null;
}

function firstText(lines: readonly string[]): number {
  return lines.findIndex((line) => line.trim() !== "");
}

/** Returns null if nothing ends the fields. */
function close(lines: readonly string[], { at, mark }: Opening, isField: IsField): FoundHeader | null {
  const start = at + 1;
  const fence = /^[`~]/.test(mark);
  const end = endOf(lines, start, mark, isField);
  if (end === null) return null;
  const fields = lines.slice(start, end.at).map((line) => (mark === "+++" ? fromToml(line) : line));
  const body = lines.slice(end.next);
  const wrapped = !fence && lines.slice(0, Math.max(0, at)).some((line) => /^\s*(?:```|~~~)/.test(line));
  const page: Page = {
    kind: "header",
    yaml: `${fields.join("\n")}\n`,
    body: wrapped ? withoutLastFence(body).join("\n") : body.join("\n"),
    before: start,
  };
  return { page, repairs: [{ line: 1, message: repairOf(lines, at, mark), key: null }] };
}

function endOf(
  lines: readonly string[],
  start: number,
  mark: string,
  isField: IsField,
): { at: number; next: number } | null {
  const rest = lines.slice(start);
  const strict = rest.findIndex((line) => /^[ \t]*---[ \t]*$/.test(line));
  const isEnd = (line: string) =>
    mark === "+++" ? /^\+{3}[ \t]*$/.test(line) : /^[`~]/.test(mark) ? line.trim() === mark : otherEnd.test(line);
  const found = mark === "---" || mark === "" ? strict : -1;
  const end = found === -1 ? rest.findIndex(isEnd) : found;
  if (end !== -1 && !rest.slice(0, end).some(isText)) return { at: start + end, next: start + end + 1 };
  if (mark !== "") return null;
  // Without a marker, the fields are the first paragraph. A single line may be an ordinary sentence.
  const blank = rest.findIndex((line) => line.trim() === "");
  const block = rest.slice(0, blank === -1 ? 0 : blank);
  const isBlock =
    block.filter((line) => isField(line)).length > 1 && block.every((line) => isField(line) || /^\s/.test(line));
  return isBlock ? { at: start + blank, next: start + blank } : null;
}

/** A heading among the supposed fields: the marker that was read as their end belongs to the text. */
function isText(line: string): boolean {
  return /^#{1,6} \S/.test(line);
}

function fromToml(line: string): string {
  return line.replace(/^([A-Za-z_][\w-]*)[ \t]*=[ \t]*/, "$1: ");
}

/** Removes the closing fence of a fence that was opened above the fields. */
function withoutLastFence(body: readonly string[]): string[] {
  const last = body.findLastIndex((line) => line.trim() !== "");
  return /^\s*(?:`{3,}|~{3,})\s*$/.test(body[last] ?? "") ? withoutLastFence([...body.slice(0, last), ""]) : [...body];
}

function repairOf(lines: readonly string[], at: number, mark: string): string {
  if (mark === "") return "expected a --- line before the fields";
  if (mark === "+++") return "expected fields in YAML between --- lines, found TOML; simple values were taken";
  if (at > firstText(lines)) return "expected the --- line of the fields first; what is above it is left out";
  return "expected the fields between two --- lines; other marks were accepted";
}

function linesOf(text: string): string {
  return text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
}
