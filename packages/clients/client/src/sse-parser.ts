/**
 * Parses server-sent events from chunks that may be split inside a line, between `\r` and `\n`, or inside a character.
 */

export type SseBlock = {
  /** The last id of the stream up to and including this block. */
  id: string | null;
  event: string;
  /** `null` if the block contains only an id. */
  data: string | null;
};

export class SseTooLongError extends Error {
  override readonly name = "SseTooLongError";
}

/** The daemon never sends a longer line. */
const defaultMaxLength = 64 * 1024 * 1024;

export class SseParser {
  // Invalid UTF-8 means that the stream is damaged; replacement characters would hide it.
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #maxLength: number;
  #parts: string[] = [];
  #length = 0;
  #afterReturn = false;
  #id: string | null = null;
  #sawId = false;
  #event = "";
  #data: string[] = [];

  constructor(options: { maxLength?: number } = {}) {
    this.#maxLength = options.maxLength ?? defaultMaxLength;
  }

  /** Returns the blocks that these bytes complete. Throws `TypeError` if the bytes are not valid UTF-8. */
  push(bytes: Uint8Array): SseBlock[] {
    const blocks: SseBlock[] = [];
    let text = this.#decoder.decode(bytes, { stream: true });
    if (this.#afterReturn && text !== "") {
      if (text.startsWith("\n")) text = text.slice(1);
      this.#afterReturn = false;
    }
    let start = 0;
    for (const match of text.matchAll(/\r\n|\n|\r/g)) {
      this.#keep(text.slice(start, match.index));
      start = match.index + match[0].length;
      const block = this.#endLine();
      if (block !== null) blocks.push(block);
    }
    // A `\n` at the start of the next chunk belongs to this line ending.
    this.#afterReturn = text === "" ? this.#afterReturn : text.endsWith("\r");
    this.#keep(text.slice(start));
    return blocks;
  }

  #keep(part: string): void {
    if (part === "") return;
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#length > this.#maxLength) {
      throw new SseTooLongError(`a line of the event stream is longer than ${this.#maxLength} characters`);
    }
  }

  #endLine(): SseBlock | null {
    const line = this.#parts.length === 1 ? (this.#parts[0] ?? "") : this.#parts.join("");
    this.#parts = [];
    this.#length = 0;
    if (line === "") return this.#endBlock();
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) {
      this.#id = value;
      this.#sawId = true;
    }
    return null;
  }

  #endBlock(): SseBlock | null {
    const data = this.#data.length === 0 ? null : this.#data.join("\n");
    const block = { id: this.#id, event: this.#event === "" ? "message" : this.#event, data };
    const worthGiving = data !== null || this.#sawId;
    this.#data = [];
    this.#event = "";
    this.#sawId = false;
    return worthGiving ? block : null;
  }
}
