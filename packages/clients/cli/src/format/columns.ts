/** Formats aligned columns. The last column uses the rest of the line. */
import type { Style } from "./style.ts";
import { displayWidth, truncate } from "./text.ts";

export type Cell = {
  text: string;
  paint?: (text: string) => string;
  /** How to shorten the text of the last column, where a bare ellipsis would hide too much. */
  shorten?: (text: string, width: number) => string;
};

const gap = "  ";
const narrowest = 10;

/** The titles of a table's columns. */
export function heading(style: Style, titles: readonly string[]): Cell[] {
  return titles.map((text) => ({ text, paint: style.dim }));
}

/** Lines for a header and its rows. Cells are one line each; only the last column is ever truncated. */
export function columns(header: readonly Cell[], rows: readonly (readonly Cell[])[], lineWidth: number): string[] {
  const all = [header, ...rows];
  const last = header.length - 1;
  const widths = header.map((_, index) => Math.max(...all.map((row) => displayWidth(row[index]?.text ?? ""))));
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + gap.length, 0);
  const lastWidth = Math.max(narrowest, lineWidth - before);
  return all.map((row) =>
    row
      .map((cell, index) => {
        const shorten = cell.shorten ?? truncate;
        const text = index === last ? shorten(cell.text, lastWidth) : cell.text;
        const painted = cell.paint?.(text) ?? text;
        return index === last ? painted : painted + " ".repeat((widths[index] ?? 0) - displayWidth(text));
      })
      .join(gap)
      .trimEnd(),
  );
}

/** How a command prints; its terminal has these fields. */
export type Look = { style: Style; columns: number };
export type TableOptions = Look & { now: number };

/** The format options of a command's tables, and the time from which ages are counted. */
export function tableOptions({ style, columns }: Look): TableOptions {
  return { style, columns, now: Date.now() };
}

/** Lines for titles and one row for each item. A string is a cell without colour. */
export function table<T>(
  look: Look,
  titles: readonly string[],
  items: readonly T[],
  row: (item: T) => readonly (Cell | string)[],
): string[] {
  const rows = items.map((item) => row(item).map((cell) => (typeof cell === "string" ? { text: cell } : cell)));
  return columns(heading(look.style, titles), rows, look.columns);
}
