/** Limits tool output to a size that a model can process, and reports what was removed. */

const outputLimit = 50 * 1024;

/** The beginning of a text. `hint` says how to get the rest. */
export function capText(text: string, hint: string): string {
  if (Buffer.byteLength(text) <= outputLimit) return text;
  const kept = sliceBytes(text, outputLimit);
  const cut = Buffer.byteLength(text) - Buffer.byteLength(kept);
  return `${kept}\n[cut: ${cut} more bytes. ${hint}]`;
}

/** Collects a stream of unknown length in bounded memory: its beginning and its end. */
export class HeadAndTail {
  readonly #headLimit = Math.floor(outputLimit * 0.4);
  readonly #tailLimit = outputLimit - this.#headLimit;
  readonly #head: Buffer[] = [];
  #headSize = 0;
  #tail: Buffer[] = [];
  #tailSize = 0;
  #cut = 0;

  push(chunk: Uint8Array): void {
    const buffer = Buffer.from(chunk);
    const room = this.#headLimit - this.#headSize;
    const first = buffer.subarray(0, room);
    if (first.length > 0) this.#head.push(first);
    this.#headSize += first.length;
    this.#pushTail(buffer.subarray(first.length));
  }

  toString(): string {
    this.#trimTail();
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#cut === 0) return Buffer.concat([head, tail]).toString("utf8");
    return `${head.toString("utf8")}\n[cut: ${this.#cut} bytes in the middle]\n${tail.toString("utf8")}`;
  }

  #pushTail(buffer: Buffer): void {
    if (buffer.length === 0) return;
    this.#tail.push(buffer);
    this.#tailSize += buffer.length;
    // Not for every chunk: a chunk may be a single byte.
    if (this.#tailSize > this.#tailLimit * 2) this.#trimTail();
  }

  #trimTail(): void {
    if (this.#tailSize <= this.#tailLimit) return;
    const joined = Buffer.concat(this.#tail);
    const kept = joined.subarray(joined.length - this.#tailLimit);
    this.#cut += joined.length - kept.length;
    this.#tail = [kept];
    this.#tailSize = kept.length;
  }
}

/** Never splits a character. */
function sliceBytes(text: string, bytes: number): string {
  const cut = Buffer.from(text).subarray(0, bytes).toString("utf8");
  return cut.endsWith("\uFFFD") ? cut.slice(0, -1) : cut;
}
