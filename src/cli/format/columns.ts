/** Aligned columns. The last one takes what is left of the line. */
import { displayWidth, truncate } from "./text.ts";

export type Cell = { text: string; paint?: (text: string) => string };

const gap = "  ";
const narrowest = 10;

/** Lines for a header and its rows. Cells are one line each; only the last column is ever cut. */
export function columns(header: readonly Cell[], rows: readonly (readonly Cell[])[], lineWidth: number): string[] {
  const all = [header, ...rows];
  const last = header.length - 1;
  const widths = header.map((_, index) => Math.max(...all.map((row) => displayWidth(row[index]?.text ?? ""))));
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + gap.length, 0);
  const lastWidth = Math.max(narrowest, lineWidth - before);
  return all.map((row) =>
    row
      .map((cell, index) => {
        const text = index === last ? truncate(cell.text, lastWidth) : cell.text;
        const painted = cell.paint?.(text) ?? text;
        return index === last ? painted : painted + " ".repeat((widths[index] ?? 0) - displayWidth(text));
      })
      .join(gap)
      .trimEnd(),
  );
}
