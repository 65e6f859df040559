/**
 * What one turn keeps of its harness's output: its text (`TurnText`), and how much of everything it stores (`TurnBounds`).
 * Longer text is truncated with a note, and the full text is stored in a file. Secrets are redacted before truncation,
 * so that no part of one remains at the cut.
 */
import type { DriverEvent, TurnEnded } from "@aegis/drivers/driver.ts";
import { cutText, cutValue, sizeOf } from "@aegis/lib/cut-text.ts";
import type { OverflowFile, OverflowFiles } from "@aegis/lib/overflow.ts";
import type { Redact, RedactedStream } from "@aegis/lib/redact.ts";

/** The limit of unfinished text in characters. Events record complete texts, which are not limited here. */
const longestUnfinished = 256 * 1024;

export type SaidText = { message: string; text: string };

/** The text of an agent in one turn: its complete messages, and streaming text that is not complete yet. */
export class TurnText {
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

/** In characters. */
export type TurnLimits = {
  /** One event. */
  event: number;
  /** The agent's text in one turn, and its thinking, each. */
  text: number;
  toolResult: number;
  /** Everything else in one turn; further items are truncated to `small`. */
  items: number;
  small: number;
};

export const defaultTurnLimits: TurnLimits = {
  event: 1024 * 1024,
  text: 8 * 1024 * 1024,
  toolResult: 256 * 1024,
  items: 64 * 1024 * 1024,
  small: 4 * 1024,
};

export type TurnBoundsOptions = {
  turn: string;
  redact: Redact;
  /** Redacts text that arrives in chunks. */
  redactedStream: () => RedactedStream;
  overflow: OverflowFiles;
  limits?: TurnLimits;
};

/** Reserved for the note about what was cut. */
const noteRoom = 512;
/** The maximum of files per turn. */
const mostFiles = 100;

type TextType = "text" | "thinking";
type Item = Exclude<DriverEvent, TurnEnded>;

/** A streaming text. `shown` counts since it was last complete. */
type Stream = { clean: RedactedStream; shown: number; total: number; head: string; file: OverflowFile | null };

/** Limits what one turn stores, regardless of what its harness sends. */
export class TurnBounds {
  readonly #options: TurnBoundsOptions;
  readonly #limits: TurnLimits;
  readonly #streams = new Map<string, Stream>();
  readonly #used = { text: 0, thinking: 0, items: 0 };
  #files = 0;

  constructor(options: TurnBoundsOptions) {
    this.#options = options;
    this.#limits = options.limits ?? defaultTurnLimits;
  }

  /** The part of a chunk that may be shown, and the number of characters shown before it. */
  async delta(type: TextType, message: string, piece: string): Promise<{ text: string; offset: number }> {
    const stream = this.#stream(type, message);
    const clean = stream.clean.push(piece);
    const limit = this.#room(type);
    const offset = stream.shown;
    stream.total += clean.length;
    if (stream.file !== null) await stream.file.write(clean);
    else {
      if (stream.total <= limit + clean.length) stream.head += clean;
      if (stream.total > limit && this.#files < mostFiles) {
        stream.file = this.#begin(type);
        await stream.file.write(stream.head);
        stream.head = "";
      }
    }
    const text = clean.slice(0, Math.max(0, limit - offset));
    stream.shown += text.length;
    return { text, offset };
  }

  /** The withheld end of a streaming text, which might be the beginning of a secret. */
  rest(type: TextType, message: string): string {
    const stream = this.#streams.get(`${type}/${message}`);
    return stream === undefined || stream.total > stream.shown ? "" : stream.clean.flush();
  }

  /** Counts a chunk that is not shown before its text is complete. */
  count(type: TextType, message: string, piece: string): void {
    this.#stream(type, message).total += piece.length;
  }

  /**
   * The text to store, or null long after the turn exceeded its limit. `keep` is false for text that a plugin may still
   * withhold.
   */
  async whole(type: TextType, message: string, text: string, keep: boolean): Promise<string | null> {
    const key = `${type}/${message}`;
    const stream = this.#streams.get(key);
    this.#streams.delete(key);
    if (this.#used[type] >= 2 * this.#limits.text) {
      await stream?.file?.close();
      return null;
    }
    const limit = this.#room(type);
    const total = Math.max(text.length, stream?.total ?? 0);
    if (total <= limit) {
      this.#used[type] += text.length;
      return text;
    }
    const clean = this.#options.redact(text);
    const kept = keep ? await this.#kept(type, clean, stream) : null;
    this.#used[type] += Math.min(limit, clean.length);
    return cutText(clean, limit, { kept, total });
  }

  /** A tool's result as it is stored. */
  async toolResult(output: string): Promise<string> {
    const clean = this.#options.redact(output);
    const limit = Math.min(this.#limits.toolResult, this.#itemRoom());
    this.#used.items += Math.min(clean.length, limit);
    // A result that the plane truncated already ends with a note.
    if (clean.length <= limit + noteRoom) return clean;
    const kept = this.#itemRoom() === this.#limits.small ? null : await this.#keep("tool", clean);
    return cutText(clean, limit, { kept });
  }

  /** Any other item as it is stored. Data that a driver needs later is unchanged: the driver bounds it. */
  item<I extends Item>(item: I): I {
    if (item.type === "memory") return item;
    const limit = this.#itemRoom();
    const size = sizeOf(item);
    this.#used.items += Math.min(size, limit);
    if (size <= limit) return item;
    const fields = Object.entries(item);
    // Each field gets its share, so that short ones such as ids and names stay complete.
    const large = fields.filter(([, value]) => sizeOf(value) > limit / fields.length).length;
    const share = Math.floor(limit / Math.max(2, large + 1));
    return Object.fromEntries(fields.map(([key, value]) => [key, cutField(key, value, share)])) as I;
  }

  /** Closes the files of texts that were never completed. */
  async close(): Promise<void> {
    for (const { file } of this.#streams.values()) await file?.close();
    this.#streams.clear();
  }

  #stream(type: TextType, message: string): Stream {
    const key = `${type}/${message}`;
    const known = this.#streams.get(key);
    if (known !== undefined) return known;
    const stream = { clean: this.#options.redactedStream(), shown: 0, total: 0, head: "", file: null };
    this.#streams.set(key, stream);
    return stream;
  }

  /** The limit of the next text. A text beyond the turn's limit still gets a few lines. */
  #room(type: TextType): number {
    const { event, text, small } = this.#limits;
    return Math.max(small, Math.min(event, text - this.#used[type]));
  }

  #itemRoom(): number {
    const { event, items, small } = this.#limits;
    return this.#used.items >= items ? small : event;
  }

  async #kept(type: TextType, clean: string, stream: Stream | undefined): Promise<string | null> {
    if (stream?.file == null) return this.#keep(type, clean);
    await stream.file.write(stream.clean.flush());
    return stream.file.close();
  }

  async #keep(what: string, text: string): Promise<string | null> {
    return this.#files >= mostFiles ? null : this.#options.overflow.keep(this.#name(what), text);
  }

  #begin(type: TextType): OverflowFile {
    return this.#options.overflow.begin(this.#name(type));
  }

  #name(what: string): string {
    this.#files += 1;
    return `${this.#options.turn}-${this.#files}-${what}`;
  }
}

/** Fields with arbitrary values. All others keep their shape, because readers rely on it. */
const anyValue: ReadonlySet<string> = new Set(["input", "value"]);
const mostEntries = 1_000;

function cutField(key: string, value: unknown, limit: number): unknown {
  return anyValue.has(key) ? cutValue(value, limit) : cutTexts(value, limit);
}

function cutTexts(value: unknown, limit: number): unknown {
  if (typeof value === "string") return cutText(value, limit);
  if (typeof value !== "object" || value === null || sizeOf(value) <= limit) return value;
  if (Array.isArray(value)) {
    const share = Math.max(100, Math.floor(limit / Math.min(value.length, mostEntries)));
    return value.slice(0, mostEntries).map((entry) => cutTexts(entry, share));
  }
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, cutTexts(entry, limit)]));
}
