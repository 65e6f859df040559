/** Lays a text out as terminal rows. Measures only the text near the cursor. */
import { graphemeAt, graphemeBefore, graphemesIn, graphemeWidth, tab } from "./graphemes.ts";

/** The cells available to the text: in the first row, and in each row below it. */
export type Geometry = { first: number; rest: number };

export type Row = {
  from: number;
  to: number;
  /** The cursor's offset in the text if it is in this row; null otherwise. */
  cursor: number | null;
};

export type Layout = {
  rows: Row[];
  /** Whether there is text above and below the rows. */
  above: boolean;
  below: boolean;
};

/** A line, or a part of a line that is too long to measure at each key press. The part begins on its own row. */
type Block = { from: number; to: number };

const longestBlock = 4096;

/** Returns at most `most` rows around the cursor. */
export function layout(text: string, cursor: number, geometry: Geometry, most: number): Layout {
  const block = blockAt(text, cursor);
  const own = rowsOf(text, block, geometry, cursor);
  const at = own.findIndex((row) => row.cursor !== null);
  const above = own.slice(0, at);
  const below = own.slice(at + 1);
  let first: Block | null = block;
  while (above.length < most && first !== null) {
    first = blockBefore(text, first);
    if (first !== null) above.unshift(...rowsOf(text, first, geometry, null));
  }
  let last: Block | null = block;
  while (below.length < most && last !== null) {
    last = blockAfter(text, last);
    if (last !== null) below.push(...rowsOf(text, last, geometry, null));
  }
  const room = most - 1;
  const half = Math.floor(room / 2);
  const before = Math.min(above.length, Math.max(half, room - below.length));
  const after = Math.min(below.length, room - before);
  const rows = [...above.slice(above.length - before), ...own.slice(at, at + 1), ...below.slice(0, after)];
  return {
    rows,
    above: before < above.length || (rows[0]?.from ?? 0) > 0,
    below: after < below.length || (rows.at(-1)?.to ?? 0) < text.length,
  };
}

/** The cursor's offset one row up or down; null if there is no such row. */
export function moveVertically(text: string, cursor: number, geometry: Geometry, by: -1 | 1): number | null {
  const { rows } = layout(text, cursor, geometry, 3);
  const at = rows.findIndex((row) => row.cursor !== null);
  const current = rows[at];
  const target = rows[at + by];
  if (current === undefined || target === undefined) return null;
  const column = widthOf(text, current.from, cursor);
  let used = 0;
  let offset = target.from;
  while (offset < target.to) {
    const grapheme = graphemeAt(text, offset);
    used += graphemeWidth(grapheme);
    if (used > column) break;
    offset += grapheme.length;
  }
  // The end of a wrapped row is the start of the next one, so use the row's last character instead.
  const goesOn = offset === target.to && offset < text.length && text[offset] !== "\n";
  return goesOn && offset > target.from ? graphemeBefore(text, offset) : offset;
}

/** The displayed text of a row. */
export function rowText(text: string, { from, to, cursor }: Row, mark: (text: string) => string): string {
  const shown = (part: string) => part.replaceAll("\t", tab);
  if (cursor === null) return shown(text.slice(from, to));
  if (cursor >= to) return `${shown(text.slice(from, to))}${mark(" ")}`;
  const under = graphemeAt(text, cursor);
  const rest = text.slice(cursor + under.length, to);
  // A cursor mark on an invisible character would not be visible either.
  const marked =
    under === "\t" ? mark(" ") + tab.slice(1) : graphemeWidth(under) === 0 ? mark(" ") + under : mark(under);
  return `${shown(text.slice(from, cursor))}${marked}${shown(rest)}`;
}

export function widthOf(text: string, from: number, to: number): number {
  let width = 0;
  for (const grapheme of graphemesIn(text, from, to)) width += graphemeWidth(grapheme);
  return width;
}

function rowsOf(text: string, { from, to }: Block, geometry: Geometry, cursor: number | null): Row[] {
  const rows: Row[] = [];
  let limit = from === 0 ? geometry.first : geometry.rest;
  let start = from;
  let used = 0;
  const end = (at: number) => {
    rows.push({ from: start, to: at, cursor: cursor !== null && cursor >= start && cursor < at ? cursor : null });
    start = at;
    used = 0;
    limit = geometry.rest;
  };
  let offset = from;
  for (const grapheme of graphemesIn(text, from, to)) {
    const width = graphemeWidth(grapheme);
    if (used + width > limit && offset > start) end(offset);
    used += width;
    offset += grapheme.length;
  }
  const isAtEnd = cursor === to;
  // The cursor after the last character needs its own cell.
  if (isAtEnd && used >= limit && start < to) end(to);
  rows.push({
    from: start,
    to,
    cursor: isAtEnd || (cursor !== null && cursor >= start && cursor < to) ? cursor : null,
  });
  return rows;
}

function blockAt(text: string, offset: number): Block {
  const lineFrom = offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
  const found = text.indexOf("\n", offset);
  const lineTo = found === -1 ? text.length : found;
  if (lineTo - lineFrom <= longestBlock) return { from: lineFrom, to: lineTo };
  const border = (index: number) =>
    borderNear(text, lineFrom, Math.min(lineTo, lineFrom + index * longestBlock), lineTo);
  let index = Math.floor((offset - lineFrom) / longestBlock);
  if (border(index + 1) <= offset && border(index + 1) < lineTo) index += 1;
  return { from: border(index), to: border(index + 1) };
}

/** Never splits a grapheme: prefers a border before a plain character nearby. */
function borderNear(text: string, lineFrom: number, wanted: number, lineTo: number): number {
  if (wanted === lineFrom || wanted === lineTo) return wanted;
  for (let at = wanted; at > wanted - 100; at--) {
    const code = text.charCodeAt(at);
    const before = text.charCodeAt(at - 1);
    if (code >= 0x20 && code < 0x7f && before < 0x300) return at;
  }
  return graphemeBefore(text, wanted);
}

function blockBefore(text: string, { from }: Block): Block | null {
  return from === 0 ? null : blockAt(text, from - 1);
}

function blockAfter(text: string, { to }: Block): Block | null {
  if (to >= text.length) return null;
  return blockAt(text, text[to] === "\n" ? to + 1 : to);
}
