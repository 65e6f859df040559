/** A change to a file as lines. The words that differ in a pair of lines are computed when the line is shown. Pure. */
import { diffWordsWithSpace, parsePatch, type StructuredPatchHunk, structuredPatch } from "diff";

export type DiffSpan = { text: string; changed: boolean };
export type CodeLine = {
  kind: "same" | "add" | "del";
  before: number | null;
  after: number | null;
  text: string;
  /** The line on the other side that it replaces, or that replaces it. */
  other: string | null;
};
export type DiffLine = { kind: "hunk"; text: string } | CodeLine;

export type DiffLines = { lines: DiffLine[]; added: number; removed: number };
export type FileDiff = DiffLines | { tooLarge: true };

/** A change above these limits is not shown whole. */
const mostCharacters = 300_000;
const mostLines = 3_000;
const longestLine = 1_000;

export function diffOf(before: string, after: string): FileDiff {
  if (before.length + after.length > mostCharacters) return { tooLarge: true };
  // Without a limit, two long files that share nothing take minutes.
  const patch = structuredPatch("a", "b", before, after, "", "", { context: 3, timeout: 500 });
  return patch === undefined ? { tooLarge: true } : bounded(patch.hunks);
}

/** Null if the text is no patch. */
export function diffOfPatch(text: string): FileDiff | null {
  if (text.length > mostCharacters) return { tooLarge: true };
  try {
    return bounded(parsePatch(text).flatMap(({ hunks }) => hunks));
  } catch {
    return null;
  }
}

/** The patch of one file as git writes it; its end may be missing. */
export function diffOfGit(text: string): DiffLines {
  const hunks: Hunk[] = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; ) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(lines[at++] ?? "");
    if (head === null) continue;
    let [before, after] = [Number(head[2] ?? 1), Number(head[4] ?? 1)];
    const hunk: Hunk = { oldStart: Number(head[1]), newStart: Number(head[3]), lines: [] };
    // The counts tell where the hunk ends: a line of the file may look like the head of the next one.
    while (at < lines.length && (before > 0 || after > 0)) {
      const line = lines[at++] ?? "";
      if (line.startsWith("-")) before -= 1;
      else if (line.startsWith("+")) after -= 1;
      else if (line.startsWith(" ")) [before, after] = [before - 1, after - 1];
      else continue;
      hunk.lines.push(line);
    }
    hunks.push(hunk);
  }
  return linesOf(hunks);
}

/** The text of a line in spans, of which the changed ones differ from the line on the other side. */
export function spansOf({ text, other, kind }: CodeLine): DiffSpan[] {
  if (other === null || text.length > longestLine || other.length > longestLine) return [{ text, changed: false }];
  const isOld = kind === "del";
  const parts = isOld ? diffWordsWithSpace(text, other) : diffWordsWithSpace(other, text);
  return parts
    .filter((part) => !(isOld ? part.added : part.removed))
    .map((part) => ({ text: part.value, changed: part.added || part.removed }));
}

type Hunk = Pick<StructuredPatchHunk, "oldStart" | "newStart" | "lines">;

function bounded(hunks: readonly Hunk[]): FileDiff {
  const count = hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  return count > mostLines ? { tooLarge: true } : linesOf(hunks);
}

function linesOf(hunks: readonly Hunk[]): DiffLines {
  const lines: DiffLine[] = [];
  let [added, removed] = [0, 0];
  for (const [index, hunk] of hunks.entries()) {
    if (index > 0 || hunk.oldStart > 1) lines.push({ kind: "hunk", text: `line ${hunk.newStart}` });
    let [before, after] = [hunk.oldStart, hunk.newStart];
    const texts = hunk.lines.filter((line) => !line.startsWith("\\"));
    for (let at = 0; at < texts.length; ) {
      const line = texts[at] ?? "";
      if (line.startsWith(" ")) {
        lines.push({ kind: "same", before: before++, after: after++, text: line.slice(1), other: null });
        at += 1;
        continue;
      }
      const minus = run(texts, at, "-");
      const plus = run(texts, at + minus.length, "+");
      if (minus.length + plus.length === 0) {
        at += 1;
        continue;
      }
      const isPaired = minus.length === plus.length;
      const other = (side: readonly string[], k: number) => (isPaired ? (side[k] ?? null) : null);
      for (const [k, text] of minus.entries())
        lines.push({ kind: "del", before: before++, after: null, text, other: other(plus, k) });
      for (const [k, text] of plus.entries())
        lines.push({ kind: "add", before: null, after: after++, text, other: other(minus, k) });
      removed += minus.length;
      added += plus.length;
      at += minus.length + plus.length;
    }
  }
  return { lines, added, removed };
}

function run(lines: readonly string[], from: number, sign: string): string[] {
  let to = from;
  while (lines[to]?.startsWith(sign)) to += 1;
  return lines.slice(from, to).map((line) => line.slice(1));
}
