/**
 * A list of any length on a few rows. Renders only the items in view, and remembers their lines by item and width. The
 * position is an item and a line in it, so appended and prepended items do not move what the reader sees.
 */

type Item = { readonly key: string };
type Place = { readonly at: number; readonly line: number };

export class ListWindow<T extends Item> {
  readonly #linesOf: (item: T, width: number) => readonly string[];
  #cache = new WeakMap<T, { width: number; lines: readonly string[] }>();
  /** Null follows the end; otherwise the item and line in the top row. `at` is where it was last found. */
  #anchor: { key: string; line: number; at: number } | null = null;
  /** False while the list is a part of a longer one, so that its end is not the end. */
  follows = true;

  constructor(linesOf: (item: T, width: number) => readonly string[]) {
    this.#linesOf = linesOf;
  }

  get following(): boolean {
    return this.#anchor === null;
  }

  /** Discards the remembered lines, because folds or colours changed. */
  invalidate(): void {
    this.#cache = new WeakMap();
  }

  toEnd(): void {
    this.follows = true;
    this.#anchor = null;
  }

  toStart(items: readonly T[]): void {
    const [first] = items;
    this.#anchor = first === undefined ? null : { key: first.key, line: 0, at: 0 };
  }

  /** Scrolls by rows. Returns which end of the list is near, so that more items should be loaded there. */
  scroll(items: readonly T[], width: number, height: number, by: number): { start: boolean; end: boolean } {
    let { at, line } = this.#place(items, width, height).top;
    line += by;
    while (line < 0 && at > 0) {
      at -= 1;
      line += this.#lines(items[at], width).length;
    }
    while (at < items.length - 1 && line >= this.#lines(items[at], width).length) {
      line -= this.#lines(items[at], width).length;
      at += 1;
    }
    const item = items[at];
    this.#anchor = item === undefined ? null : { key: item.key, line: Math.max(0, line), at };
    // Follows the end again if the last row is in view.
    this.#place(items, width, height);
    return { start: at < height, end: items.length - at < 2 * height };
  }

  /** Puts the previous or next item that matches into the top row. */
  jump(items: readonly T[], width: number, height: number, step: 1 | -1, matches: (item: T) => boolean): boolean {
    const { at, line } = this.#place(items, width, height).top;
    let index = step === -1 && line > 0 ? at : at + step;
    for (; index >= 0 && index < items.length; index += step) {
      const item = items[index];
      if (item === undefined || !matches(item)) continue;
      this.#anchor = { key: item.key, line: 0, at: index };
      this.#place(items, width, height);
      return true;
    }
    if (step === 1 && this.follows) this.toEnd();
    else if (step === -1) this.toStart(items);
    return false;
  }

  render(items: readonly T[], width: number, height: number): string[] {
    return this.#place(items, width, height).rows;
  }

  #lines(item: T | undefined, width: number): readonly string[] {
    if (item === undefined) return [];
    const known = this.#cache.get(item);
    if (known?.width === width) return known.lines;
    const lines = this.#linesOf(item, width);
    this.#cache.set(item, { width, lines });
    return lines;
  }

  #place(items: readonly T[], width: number, height: number): { rows: string[]; top: Place } {
    const anchor = this.#anchor;
    if (anchor === null) return this.#fromEnd(items, width, height);
    let at = items[anchor.at]?.key === anchor.key ? anchor.at : items.findIndex(({ key }) => key === anchor.key);
    if (at === -1) {
      this.#anchor = null;
      return this.#fromEnd(items, width, height);
    }
    let line = Math.min(anchor.line, Math.max(0, this.#lines(items[at], width).length - 1));
    this.#anchor = { key: anchor.key, line, at };
    const top = { at, line };
    const rows: string[] = [];
    for (; at < items.length && rows.length < height; at += 1) {
      rows.push(...this.#lines(items[at], width).slice(line));
      line = 0;
    }
    if (rows.length >= height) return { rows: rows.slice(0, height), top };
    const end = this.#fromEnd(items, width, height);
    const item = items[end.top.at];
    this.#anchor = this.follows || item === undefined ? null : { key: item.key, ...end.top };
    return end;
  }

  #fromEnd(items: readonly T[], width: number, height: number): { rows: string[]; top: Place } {
    const parts: (readonly string[])[] = [];
    let count = 0;
    let at = items.length - 1;
    for (; at >= 0 && count < height; at -= 1) {
      const lines = this.#lines(items[at], width);
      parts.unshift(lines);
      count += lines.length;
    }
    const rows = parts.flat();
    return { rows: rows.slice(-height), top: { at: at + 1, line: Math.max(0, rows.length - height) } };
  }
}
