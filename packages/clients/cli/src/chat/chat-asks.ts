/** Asks shown in a chat. A user can allow an ask here only after the chat has shown it in full. */
import type { Client } from "@aegis/client/client.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import type { EventOf } from "@aegis/contract/event.ts";
import type { AskId, SessionId } from "@aegis/contract/ids.ts";
import { answerAsk, askList, byShortId, choicesOf, echoLines, letsHappen } from "../commands/ask/find-ask.ts";
import { actionLine, askEnd, askLines, questionLines, shortAskId } from "../format/ask-view.ts";
import type { SessionNames } from "../format/session-names.ts";
import type { Style } from "../format/style.ts";
import { fitLine, visibleLine } from "../format/visible.ts";
import { usageError } from "../program/failure.ts";
import { pagesOf } from "../terminal/pager.ts";
import type { TurnOutput } from "../turn-printer.ts";

type Known = {
  ask: Ask;
  /** The pages that are not shown yet. */
  pages: string[][];
  /** The last page was shown. */
  wasShown: boolean;
};

export type ChatAsksOptions = {
  client: Client;
  out: TurnOutput;
  style: Style;
  width: () => number;
  /** The number of rows per page for a person who reads along; null shows everything at once. */
  rows: (() => number) | null;
  names: SessionNames;
};

export class ChatAsks {
  readonly #options: ChatAsksOptions;
  /** Open asks, oldest first. */
  readonly #known = new Map<AskId, Known>();
  /** Asks answered in this chat; their end is not reported again. */
  readonly #answered = new Set<AskId>();

  constructor(options: ChatAsksOptions) {
    this.#options = options;
  }

  /** Shows an ask of the current session immediately. For other sessions, only reports that an ask exists. */
  opened(ask: Ask, current: SessionId): void {
    if (ask.status !== "open" || this.#known.has(ask.id)) return;
    this.#known.set(ask.id, { ask, pages: this.#pages(ask), wasShown: false });
    if (ask.session === current) this.#showPage(ask.id);
    else this.#announce(ask);
  }

  /** The published event is redacted, so this fetches the ask to show the exact action. */
  async learn(event: EventOf<"ask.opened"> | EventOf<"ask.settled">, current: SessionId): Promise<void> {
    if (event.type === "ask.settled") return this.#settled(event);
    const { ask } = event.data;
    const whole = await this.#options.client.call("getAsk", { path: { ask: ask.id } }).catch(() => ({ ask }));
    this.opened(whole.ask, current);
  }

  /** Shows the asks of the session that the user switched to. */
  switched(current: SessionId): void {
    for (const { ask, wasShown } of this.#known.values())
      if (ask.session === current && !wasShown) this.#showPage(ask.id);
  }

  /** `/ask`: shows the next page of an ask, or the whole ask again. */
  show(reference: string, current: SessionId): void {
    const known = this.#pick(reference, current);
    if (known.pages.length === 0) known.pages = this.#pages(known.ask);
    this.#showPage(known.ask.id);
  }

  /** `/answer`. */
  async answer(rest: string, current: SessionId): Promise<void> {
    const [first = "", ...words] = rest.split(/\s+/);
    const isNamed = words.length > 0 && (first.startsWith("ask_") || byShortId(first, this.#open()).length > 0);
    const known = this.#pick(isNamed ? first : "", current);
    const { ask } = known;
    const text = isNamed ? words.join(" ") : rest;
    if (text === "") throw usageError("which answer?", choicesOf(ask));
    if (letsHappen(ask, text)) this.#mustHaveBeenSeen(known, isNamed);
    this.#answered.add(ask.id);
    try {
      await answerAsk(this.#options.client, ask, text, "chat");
    } catch (error) {
      this.#answered.delete(ask.id);
      throw error;
    }
    this.#known.delete(ask.id);
    for (const line of echoLines(ask, text, this.#options.style)) this.#options.out.aside(line);
  }

  /** A person must name what is allowed, because another ask may open while the line is typed. */
  #mustHaveBeenSeen(known: Known, isNamed: boolean): void {
    const { id } = known.ask;
    if (known.pages.length > 0) {
      this.#showPage(id);
      const more = known.pages.length > 0 ? `/ask ${shortAskId(id)} shows the rest` : "answer again";
      throw usageError("not answered: the ask must be shown in full before you can allow it", more);
    }
    if (!isNamed && this.#options.rows !== null)
      throw usageError("not answered: the ask must be named to be allowed", `/answer ${shortAskId(id)} <choice>`);
  }

  /**
   * Without a reference, picks the only ask of this session. Rejects an ambiguous reference and lists the candidates.
   */
  #pick(reference: string, current: SessionId): Known {
    const open = this.#open();
    const own = open.filter((ask) => ask.session === current);
    const found =
      reference === ""
        ? own
        : reference.startsWith("ask_")
          ? open.filter(({ id }) => id === reference)
          : byShortId(reference, open);
    const [ask, ...more] = found;
    const known = ask === undefined ? undefined : this.#known.get(ask.id);
    if (known !== undefined && more.length === 0) return known;
    if (open.length === 0) throw usageError("no ask is open");
    const problem =
      reference !== ""
        ? `no open ask "${reference}"`
        : own.length === 0
          ? "this session has no open ask; these sessions do:"
          : "this session has several open asks:";
    throw usageError(
      [problem, ...askList(own.length > 1 && reference === "" ? own : open)].join("\n"),
      "/answer <id> <choice> picks one",
    );
  }

  #open(): Ask[] {
    return [...this.#known.values()].map(({ ask }) => ask);
  }

  #pages(ask: Ask): string[][] {
    const { style, width, rows, names } = this.#options;
    const lines = [
      ...questionLines(ask, `${names.label(ask.session)} `, style),
      ...askLines(ask, { style, now: Date.now() }),
    ];
    return rows === null ? [lines] : pagesOf(lines, { columns: width(), rows: rows() });
  }

  #showPage(id: AskId): void {
    const { out, style } = this.#options;
    const known = this.#known.get(id);
    if (known === undefined) return;
    for (const line of known.pages.shift() ?? []) out.aside(line);
    const left = known.pages.reduce((sum, page) => sum + page.length, 0);
    if (left > 0) {
      out.aside(style.yellow(`  … ${left} more lines: /ask ${shortAskId(id)}`));
      return;
    }
    known.wasShown = true;
    const { options } = known.ask;
    const named = this.#options.rows === null ? "" : `${shortAskId(id)} `;
    out.aside(style.yellow(`  /answer ${named}${options.length === 0 ? "<text>" : visibleLine(options.join(", "))}`));
  }

  #announce(ask: Ask): void {
    const { out, style, width, names } = this.#options;
    const id = shortAskId(ask.id);
    const line = fitLine(`· ${names.label(ask.session)} needs you: ${actionLine(ask)}`, width(), `/ask ${id}`);
    out.aside(style.yellow(line.includes(`/ask ${id}`) ? line : `${line} (/ask ${id})`));
  }

  #settled({ data }: EventOf<"ask.settled">): void {
    const known = this.#known.get(data.ask);
    this.#known.delete(data.ask);
    if (this.#answered.delete(data.ask) || known === undefined) return;
    const { out, style, names } = this.#options;
    const end = askEnd({
      status: data.status,
      answer: data.answer,
      settled_by: data.by ?? null,
      settled_reason: data.reason ?? null,
    });
    out.aside(style.yellow(`· the ask ${shortAskId(data.ask)} of ${names.label(known.ask.session)} is over: ${end}`));
  }
}
