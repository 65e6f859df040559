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

export type TableOptions = { color: boolean; width: number; now: number };

/** The format options of a command's tables, and the time from which ages are counted. */
export function tableOptions(cx: { color: boolean; columns: number }): TableOptions {
  return { color: cx.color, width: cx.columns, now: Date.now() };
}
