/** Heights of rows in blocks of 256, so that finding a row touches at most N/256 + 256 numbers. Pure. */
const bits = 8;
const size = 1 << bits;

export class Heights {
  readonly #estimate: number;
  #rows: number[] = [];
  #sums: number[] = [];
  total = 0;

  constructor(estimate: number) {
    this.#estimate = estimate;
  }

  get length(): number {
    return this.#rows.length;
  }

  /** Makes room for as many rows; new rows are added at the end. */
  resize(length: number): void {
    if (length < this.#rows.length) this.#fill(this.#rows.slice(0, length));
    while (this.#rows.length < length) this.#push(this.#estimate);
  }

  /** Rows were added before the first one, or removed there (a negative count). */
  shift(count: number): void {
    if (count < 0) this.#fill(this.#rows.slice(-count));
    else this.#fill([...Array.from({ length: count }, () => this.#estimate), ...this.#rows]);
  }

  /** Returns by how much the row grew. */
  set(index: number, height: number): number {
    const before = this.#rows[index];
    if (before === undefined || before === height) return 0;
    this.#rows[index] = height;
    const block = index >> bits;
    this.#sums[block] = (this.#sums[block] ?? 0) + height - before;
    this.total += height - before;
    return height - before;
  }

  /** Where the row begins. */
  offset(index: number): number {
    let y = 0;
    const block = index >> bits;
    for (let at = 0; at < block; at++) y += this.#sums[at] ?? 0;
    for (let at = block << bits; at < index; at++) y += this.#rows[at] ?? 0;
    return y;
  }

  /** The row at a place. */
  at(y: number): number {
    let rest = y;
    let block = 0;
    while (block < this.#sums.length - 1 && rest >= (this.#sums[block] ?? 0)) rest -= this.#sums[block++] ?? 0;
    let index = block * size;
    while (index < this.#rows.length - 1 && rest >= (this.#rows[index] ?? 0)) rest -= this.#rows[index++] ?? 0;
    return index;
  }

  #push(height: number): void {
    const block = this.#rows.length >> bits;
    this.#rows.push(height);
    this.#sums[block] = (this.#sums[block] ?? 0) + height;
    this.total += height;
  }

  #fill(rows: readonly number[]): void {
    this.#rows = [];
    this.#sums = [];
    this.total = 0;
    for (const height of rows) this.#push(height);
  }
}
