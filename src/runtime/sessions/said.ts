/** The text of an agent in one turn: its complete messages, and streaming text that is not complete yet. */

/** The limit of unfinished text in characters. Events record complete texts, which are not limited here. */
const longestUnfinished = 256 * 1024;

export type SaidText = { message: string; text: string };

export class Said {
  readonly #most: number;
  #last: string | null = null;
  #text = "";
  /** The length of the complete message, of which `#text` is the beginning. */
  #length = 0;
  /** Keyed by message; the one that grew last is at the end. */
  readonly #unfinished = new Map<string, { text: string; left: number }>();

  /** `most` is the number of characters kept per message. */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  /** The last message so far; the beginning of a very long one. */
  get text(): string {
    return this.#text;
  }

  /** The length of the last message. */
  get length(): number {
    return this.#length;
  }

  /** Like `text`, including text streamed since. */
  get soFar(): string {
    const streaming = this.unfinished.at(-1);
    if (streaming === undefined) return this.#text;
    return this.#joined(streaming);
  }

  /** Texts that were streamed but never completed. */
  get unfinished(): SaidText[] {
    return [...this.#unfinished]
      .map(([message, { text, left }]) => ({ message, text: left === 0 ? text : `${text}\n[${left} more characters]` }))
      .filter(({ text }) => text.trim() !== "");
  }

  streamed(message: string, piece: string): void {
    const { text, left } = this.#unfinished.get(message) ?? { text: "", left: 0 };
    const room = Math.max(0, longestUnfinished - text.length);
    this.#unfinished.delete(message);
    this.#unfinished.set(message, { text: text + piece.slice(0, room), left: left + Math.max(0, piece.length - room) });
  }

  /** A message may have several parts, with tool calls between them. */
  completed(said: SaidText): void {
    const goesOn = said.message === this.#last && this.#text !== "";
    this.#length = (goesOn ? this.#length + 2 : 0) + said.text.length;
    this.#text = this.#joined(said).slice(0, this.#most);
    this.#last = said.message;
    this.#unfinished.delete(said.message);
  }

  /** An earlier message must not be mistaken for the withheld answer. */
  withheld(message: string): void {
    if (message !== this.#last) this.#text = "";
    this.#length = this.#text.length;
    this.#last = message;
    this.#unfinished.delete(message);
  }

  #joined({ message, text }: SaidText): string {
    return message === this.#last && this.#text !== "" ? `${this.#text}\n\n${text}` : text;
  }
}
