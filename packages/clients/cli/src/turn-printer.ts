/** Prints turns as they happen. Prints each part of the text once, whether it was streamed or not. */
import type { FollowedItem } from "@aegis/client/events.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import type { Event, LiveDelta } from "@aegis/contract/event.ts";
import type { MessageId, TurnId } from "@aegis/contract/ids.ts";
import { askEnd, askLines, questionLines, shortAskId } from "./format/ask-view.ts";
import type { Style } from "./format/style.ts";
import { oneLine, plainText } from "./format/text.ts";
import { visibleLine } from "./format/visible.ts";

export type TurnOutput = {
  /** Writes part of the answer unchanged. */
  text(text: string): void;
  /** Writes a whole line that is not part of the answer. */
  aside(line: string): void;
};

export class TurnPrinter {
  readonly #out: TurnOutput;
  readonly #style: Style;
  readonly #message: MessageId | null;
  /** Turns followed from their start. The stream of any other turn misses its beginning. */
  readonly #followed = new Set<TurnId>();
  /** The printed part of each text. */
  readonly #shown = new Map<string, string>();
  #current: string | null = null;
  #midLine = false;

  /** With a message, only turns that include it are printed. */
  constructor(out: TurnOutput, style: Style, message: MessageId | null = null) {
    this.#out = out;
    this.#style = style;
    this.#message = message;
  }

  show(item: FollowedItem): void {
    if (item.kind === "delta") this.#delta(item.delta);
    else this.#event(item.event);
  }

  /** Prints an ask with the command that answers it. */
  ask(ask: Ask, now: number): void {
    const choices = ask.options.length === 0 ? '"<text>"' : visibleLine(ask.options.join("|"));
    const lines = [...questionLines(ask, "", this.#style), ...askLines(ask, { style: this.#style, now })];
    for (const line of lines) this.#aside(line);
    this.#aside(this.#style.yellow(`  answer with: aegis answer ${ask.id} ${choices}`));
  }

  /** Ends an unfinished line. */
  finish(): void {
    if (this.#midLine) this.#write("\n");
    this.#current = null;
  }

  #delta(delta: LiveDelta): void {
    if (delta.type !== "text" || !this.#followed.has(delta.turn)) return;
    const key = `${delta.turn}/${delta.message}`;
    // After a gap in the stream, deltas do not fit until the whole text comes.
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
      case "ask.opened":
        this.ask(event.data.ask, event.at);
        break;
      case "ask.settled": {
        const { ask, status, answer, by = null, reason = null } = event.data;
        const end = askEnd({ status, answer, settled_by: by, settled_reason: reason });
        this.#aside(this.#style.dim(`the ask ${shortAskId(ask)} is over: ${end}`));
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
    if (text.startsWith(shown)) this.#append(key, text.slice(shown.length));
    else if (text.trim() !== shown.trim()) {
      // The streamed text differs from the recorded one: print again from the first line that differs.
      this.finish();
      this.#append(key, text.slice(differingLine(shown, text)));
    }
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

/** The start of the first line in which the texts differ. */
function differingLine(a: string, b: string): number {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  return b.lastIndexOf("\n", same - 1) + 1;
}
