/**
 * Collects items and gives them away once per frame. A frame in which the user typed is left to what was typed, so that
 * it is painted at once; a few frames in a row at most, so that the items do not wait for the end of a long word.
 */
const mostPostponed = 4;

export class Batches<T> {
  readonly #take: (items: readonly T[]) => void;
  readonly #nextFrame: (run: () => void) => void;
  #items: T[] = [];
  #typed = false;
  #postponed = 0;

  constructor(take: (items: readonly T[]) => void, nextFrame: (run: () => void) => void) {
    this.#take = take;
    this.#nextFrame = nextFrame;
  }

  add(item: T): void {
    if (this.#items.push(item) === 1) this.#nextFrame(() => this.#frame());
  }

  /** Somebody typed in the frame that comes next. */
  typed(): void {
    this.#typed = true;
  }

  #frame(): void {
    const isBusy = this.#typed && this.#postponed < mostPostponed;
    this.#typed = false;
    if (isBusy) {
      this.#postponed += 1;
      this.#nextFrame(() => this.#frame());
      return;
    }
    this.#postponed = 0;
    const items = this.#items;
    this.#items = [];
    this.#take(items);
  }
}
