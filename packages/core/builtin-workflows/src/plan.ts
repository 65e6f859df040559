/** Parses a plan: a Markdown file with one `## Slice N — title` heading per slice. */
import { WorkflowError } from "@aegis/plugin-api/index.ts";

export type Slice = { number: number; title: string; body: string };

const heading = /^##\s+Slice\s+(\d+)\s*(?:[—–:-]+\s*(.*))?$/iu;
const fence = /^\s*(```+|~~~+)/u;

/** Returns the slices in the order of the file. Throws a `WorkflowError` with the problem and its line. */
export function parsePlan(text: string, file: string): Slice[] {
  const slices: Slice[] = [];
  const seen = new Map<number, number>();
  let current: { slice: Slice; lines: string[] } | null = null;
  let isCode = false;
  const finish = () => {
    if (current) current.slice.body = current.lines.join("\n").trim();
    current = null;
  };
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (fence.test(line)) isCode = !isCode;
    const match = isCode ? null : heading.exec(line);
    if (match === null) {
      // Another heading of the same or a higher level ends the slice, because it concerns the plan as a whole.
      if (!isCode && /^#{1,2}\s/u.test(line)) finish();
      else current?.lines.push(line);
      continue;
    }
    finish();
    const number = Number(match[1]);
    const before = seen.get(number);
    if (before !== undefined) {
      throw new WorkflowError(`${file}:${index + 1}: slice ${number} was declared before, at line ${before}`);
    }
    seen.set(number, index + 1);
    const slice = { number, title: match[2]?.trim() || `slice ${number}`, body: "" };
    slices.push(slice);
    current = { slice, lines: [] };
  }
  finish();
  if (slices.length === 0) {
    throw new WorkflowError(`${file} has no slices: expected headings such as "## Slice 1 — a title"`);
  }
  return slices;
}
