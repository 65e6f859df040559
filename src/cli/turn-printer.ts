/** Shows turns as they happen: text as it is written, and each part of it once, whether it streamed or not. */
import type { Followed } from "../client/events.ts";
import type { Event, LiveDelta } from "../contract/event.ts";
import type { MessageId, TurnId } from "../contract/ids.ts";
import type { Style } from "./format/style.ts";
import { oneLine, plainText } from "./format/text.ts";

export type TurnOutput = {
  /** Part of the answer, as it is. */
  text(text: string): void;
  /** A whole line beside the answer. */
  aside(line: string): void;
};

export class TurnPrinter {
  readonly #out: TurnOutput;
  readonly #style: Style;
  readonly #message: MessageId | null;
  /** Turns followed from their start: the stream of any other has a hole at its beginning. */
  readonly #followed = new Set<TurnId>();
  /** What of each text has been shown. */
  readonly #shown = new Map<string, string>();
  #current: string | null = null;
  #midLine = false;

  /** With a message, only turns that took it are shown. */
  constructor(out: TurnOutput, style: Style, message: MessageId | null = null) {
    this.#out = out;
    this.#style = style;
    this.#message = message;
  }

  show(item: Followed): void {
    if (item.kind === "delta") this.#delta(item.delta);
    else this.#event(item.event);
  }

  /** Ends a line that is still open. */
  finish(): void {
    if (this.#midLine) this.#write("\n");
    this.#current = null;
  }

  #delta(delta: LiveDelta): void {
    if (delta.type !== "text" || !this.#followed.has(delta.turn)) return;
    const key = `${delta.turn}/${delta.message}`;
    // Behind a gap in the stream nothing fits until the whole text comes.
    if (delta.offset === (this.#shown.get(key)?.length ?? 0)) this.#append(key, delta.text);
  }

  #event(event: Event): void {
    if (event.type === "turn.started") {
      if (this.#message === null || event.data.messages.includes(this.#message)) this.#followed.add(event.data.turn);
      return;
    }
    if (this.#message !== null && "turn" in event.data && !this.#followed.has(event.data.turn)) return;
    switch (event.type) {
      case "turn.text":
        this.#whole(`${event.data.turn}/${event.data.message}`, event.data.text);
        break;
      case "turn.tool_call":
        this.#aside(this.#style.dim(`→ ${oneLine(event.data.title === "" ? event.data.name : event.data.title)}`));
        break;
      case "turn.tool_result":
        if (event.data.is_error) this.#aside(this.#style.yellow(`tool failed: ${oneLine(event.data.output)}`));
        break;
      case "turn.notice":
      case "session.notice":
        this.#aside(this.#style[event.data.level === "info" ? "dim" : "yellow"](oneLine(event.data.text)));
        break;
      case "ask.opened": {
        const { ask } = event.data;
        const choices = ask.options.length === 0 ? '"<text>"' : ask.options.join("|");
        this.#aside(this.#style.yellow(`asks: ${oneLine(ask.question)}`));
        this.#aside(this.#style.yellow(`  answer with: aegis answer ${ask.id} ${choices}`));
        break;
      }
      case "turn.ended":
        this.finish();
        this.#followed.delete(event.data.turn);
        break;
      default:
    }
  }

  #whole(key: string, text: string): void {
    const shown = this.#shown.get(key) ?? "";
    if (!text.startsWith(shown)) {
      // Part of the stream was missed: the text is told again from its beginning, on a line of its own.
      this.finish();
      this.#shown.delete(key);
    }
    this.#append(key, text.slice(this.#shown.get(key)?.length ?? 0));
    this.finish();
    this.#shown.delete(key);
  }

  #append(key: string, text: string): void {
    if (text === "") return;
    if (this.#current !== key) this.finish();
    this.#current = key;
    this.#shown.set(key, (this.#shown.get(key) ?? "") + text);
    this.#write(plainText(text));
  }

  #aside(line: string): void {
    this.finish();
    this.#out.aside(line);
  }

  #write(text: string): void {
    if (text === "") return;
    this.#out.text(text);
    this.#midLine = !text.endsWith("\n");
  }
}
