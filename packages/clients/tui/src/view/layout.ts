/** Parts of rows: text that is cut at a width, and rows with a left and a right end. */

import { type Plain, plainLine } from "@aegis/lib/plain-text.ts";
import { truncateToWidth, visibleWidth } from "@earendil-works/pi-tui/dist/utils.js";

export type Size = { readonly columns: number; readonly rows: number };

/** Most text fits, and pi-tui remembers the widths of texts but not where to cut them. */
export function cut(text: string, width: number): string {
  if (width <= 0) return "";
  return visibleWidth(text) <= width ? text : truncateToWidth(text, width, "…");
}

/** Foreign text as one line that fits. */
export function cell(text: string, width: number): Plain {
  return cut(plainLine(text), width) as Plain;
}

/** Foreign text in a column of a table. */
export function column(text: string, width: number): string {
  return truncateToWidth(plainLine(text), width, "…", true);
}

/** The left text is cut so that the right one stays whole; without room for both, only the left one is shown. */
export function ends(left: string, right: string, width: number): string {
  const needed = visibleWidth(right);
  if (right === "" || needed + 8 > width) return cut(left, width);
  const room = width - needed - 1;
  const shown = cut(left, room);
  return `${shown}${" ".repeat(Math.max(1, width - visibleWidth(shown) - needed))}${right}`;
}

/** Exactly this many rows. */
export function fill(rows: readonly string[], height: number): string[] {
  return [...rows.slice(0, height), ...Array.from({ length: Math.max(0, height - rows.length) }, () => "")];
}

/** The part of a list that shows the selected index. */
export function around<T>(list: readonly T[], selected: number, height: number): { from: number; shown: readonly T[] } {
  const from = Math.max(0, Math.min(selected - Math.floor(height / 2), list.length - height));
  return { from, shown: list.slice(from, from + Math.max(0, height)) };
}
