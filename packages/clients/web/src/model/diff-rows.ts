/** The rows of a diff, unified or side by side, and the text of a line in coloured pieces. Pure. */
import { type CodeLine, type DiffLine, spansOf } from "./diff-lines.ts";
import type { Piece } from "./syntax.ts";

export type DiffRow =
  | { kind: "hunk"; text: string }
  | { kind: "one"; line: CodeLine }
  | { kind: "pair"; left: CodeLine | null; right: CodeLine | null };

export function unifiedRows(lines: readonly DiffLine[]): DiffRow[] {
  return lines.map((line) => (line.kind === "hunk" ? line : { kind: "one", line }));
}

/** Removed lines stand beside the added lines that follow them. */
export function pairedRows(lines: readonly DiffLine[]): DiffRow[] {
  const rows: DiffRow[] = [];
  let left: CodeLine[] = [];
  let right: CodeLine[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(left.length, right.length); at++)
      rows.push({ kind: "pair", left: left[at] ?? null, right: right[at] ?? null });
    [left, right] = [[], []];
  };
  for (const line of lines) {
    if (line.kind === "del") {
      // A removed line after added ones begins the next change.
      if (right.length > 0) flush();
      left.push(line);
    } else if (line.kind === "add") right.push(line);
    else {
      flush();
      rows.push(line.kind === "hunk" ? line : { kind: "pair", left: line, right: line });
    }
  }
  flush();
  return rows;
}

export type PaintedText = { text: string; kind: string; changed: boolean };

/** Joins the colours of a line with the marks of the words that differ. */
export function painted(line: CodeLine, pieces: readonly Piece[] | undefined): PaintedText[] {
  const spans = spansOf(line);
  if (pieces === undefined) return spans.map((span) => ({ ...span, kind: "" }));
  const result: PaintedText[] = [];
  const rest = pieces.map(([kind, text]) => ({ kind, text }));
  for (const { text, changed } of spans) {
    let left = text;
    while (left !== "") {
      const piece = rest[0] ?? { kind: "", text: left };
      const part = left.slice(0, piece.text.length);
      if (part !== "") result.push({ text: part, kind: piece.kind, changed });
      left = left.slice(part.length);
      piece.text = piece.text.slice(part.length);
      if (piece.text === "") rest.shift();
    }
  }
  return result;
}

/** The lines of one side of each hunk, to be coloured together: a line alone may be the middle of a comment. */
export function sidesOf(lines: readonly DiffLine[], side: "before" | "after"): CodeLine[][] {
  const skipped = side === "before" ? "add" : "del";
  const hunks: CodeLine[][] = [[]];
  for (const line of lines) {
    if (line.kind === "hunk") hunks.push([]);
    else if (line.kind !== skipped) hunks.at(-1)?.push(line);
  }
  return hunks.filter((hunk) => hunk.length > 0);
}

export function piecesByLine(pieces: readonly Piece[]): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const [kind, text] of pieces)
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push([kind, part]);
    }
  return lines;
}
