/** The change of one file as lines with a sign, and a few lines of context around each change. */
import { diff } from "node:util";

export type SignedLine = { readonly sign: "+" | "-" | " " | "@"; readonly text: string; readonly line: number };
export type FileTexts = { readonly before: string | null; readonly after: string | null };

const context = 2;
const mostLines = 5_000;

export function diffLines({ before, after }: FileTexts): SignedLine[] {
  const old = lines(before);
  const next = lines(after);
  if (old.length + next.length > mostLines)
    return [{ sign: "@", text: `too large to show: ${old.length} lines before, ${next.length} after`, line: 0 }];
  // The first argument is what the entries with +1 contain.
  const entries = diff(next, old);
  const found: SignedLine[] = [];
  let line = 0;
  for (const [operation, text] of entries) {
    if (operation !== -1) line += 1;
    found.push({ sign: operation === 1 ? "+" : operation === -1 ? "-" : " ", text, line: Math.max(1, line) });
  }
  return withoutFar(removedFirst(found));
}

/** Within one change, the removed lines come before the added ones. */
function removedFirst(lines: readonly SignedLine[]): SignedLine[] {
  const sorted: SignedLine[] = [];
  const added: SignedLine[] = [];
  for (const line of lines) {
    if (line.sign === "+") added.push(line);
    else {
      if (line.sign !== "-") sorted.push(...added.splice(0));
      sorted.push(line);
    }
  }
  return [...sorted, ...added];
}

export function diffCounts(change: FileTexts): { added: number; removed: number } {
  const found = diffLines(change);
  const count = (sign: SignedLine["sign"]) => found.filter((one) => one.sign === sign).length;
  return { added: count("+"), removed: count("-") };
}

function lines(text: string | null): string[] {
  if (text === null || text === "") return [];
  return text.replace(/\n$/, "").split("\n");
}

function withoutFar(all: readonly SignedLine[]): SignedLine[] {
  const near = new Set<number>();
  for (const [index, { sign }] of all.entries()) {
    if (sign === " ") continue;
    for (let at = index - context; at <= index + context; at += 1) near.add(at);
  }
  const kept: SignedLine[] = [];
  let skipped = false;
  for (const [index, line] of all.entries()) {
    if (near.has(index)) {
      if (skipped && kept.length > 0) kept.push({ sign: "@", text: "", line: line.line });
      kept.push(line);
      skipped = false;
    } else skipped = true;
  }
  return kept;
}
