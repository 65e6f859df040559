/**
 * Formats aligned columns. One column uses the rest of the line: the flexible one, or the last. Columns that can be spared
 * are left out of a line that is too narrow for all.
 */
import type { Style } from "./style.ts";
import { displayWidth, truncate } from "./text.ts";

export type Cell = {
  text: string;
  paint?: (text: string) => string;
  /** How to shorten the text of the flexible column, where a bare ellipsis would hide too much. */
  shorten?: (text: string, width: number) => string;
};
/** `spare`: the column with the highest number is left out first; those without any value go before the others. */
export type Heading = Cell & { flexible?: true; spare?: number };

const gap = "  ";
const narrowest = 10;
/** Columns are left out until this much is left for the flexible one. */
const wanted = 30;

/** The titles of a table's columns. */
export function heading(style: Style, titles: readonly (string | Heading)[]): Heading[] {
  return titles.map((title) => ({ ...(typeof title === "string" ? { text: title } : title), paint: style.dim }));
}

/** Lines for a header and its rows. Cells are one line each; only the flexible column is ever truncated. */
export function columns(header: readonly Heading[], rows: readonly (readonly Cell[])[], lineWidth: number): string[] {
  const all = [header, ...rows];
  const found = header.findIndex(({ flexible }) => flexible);
  const flexible = found === -1 ? header.length - 1 : found;
  const widths = header.map((_, index) => Math.max(...all.map((row) => displayWidth(row[index]?.text ?? ""))));
  const shown = new Set(header.keys());
  const room = () =>
    lineWidth -
    [...shown].reduce((sum, index) => sum + (index === flexible ? 0 : (widths[index] ?? 0) + gap.length), 0);
  for (const index of spared(header, rows)) {
    if (room() >= Math.min(wanted, widths[flexible] ?? 0)) break;
    shown.delete(index);
  }
  const width = Math.max(narrowest, Math.min(room(), widths[flexible] ?? 0));
  widths[flexible] = width;
  return all.map((row) =>
    row
      .map((cell, index) => {
        const text = index === flexible ? (cell.shorten ?? truncate)(cell.text, width) : cell.text;
        return (cell.paint?.(text) ?? text) + " ".repeat(Math.max(0, (widths[index] ?? 0) - displayWidth(text)));
      })
      .filter((_, index) => shown.has(index))
      .join(gap)
      .trimEnd(),
  );
}

/** The columns that can be left out, in the order in which they are. */
function spared(header: readonly Heading[], rows: readonly (readonly Cell[])[]): number[] {
  const isEmpty = (index: number) => rows.every((row) => ["", "-"].includes(row[index]?.text ?? ""));
  const rank = (index: number) => (header[index]?.spare ?? 0) + (isEmpty(index) ? header.length : 0);
  return [...header.keys()].filter((index) => header[index]?.spare !== undefined).sort((a, b) => rank(b) - rank(a));
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
  titles: readonly (string | Heading)[],
  items: readonly T[],
  row: (item: T) => readonly (Cell | string)[],
): string[] {
  const rows = items.map((item) => row(item).map((cell) => (typeof cell === "string" ? { text: cell } : cell)));
  return columns(heading(look.style, titles), rows, look.columns);
}
