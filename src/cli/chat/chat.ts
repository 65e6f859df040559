/** A conversation with one session at a time, while the others go on. Knows nothing of terminals. */
import type { Client } from "../../client/client.ts";
import { type Followed, followEvents } from "../../client/events.ts";
import type { Ask } from "../../contract/ask.ts";
import { isAegisError } from "../../contract/errors.ts";
import type { Event } from "../../contract/event.ts";
import { type AskId, type MessageId, newId, type SessionId, type TurnId } from "../../contract/ids.ts";
import type { SessionState, SessionView } from "../../contract/session.ts";
import { describeError } from "../failure.ts";
import { endWords, senderName } from "../format/event-line.ts";
import type { Style } from "../format/style.ts";
import { oneLine, truncate } from "../format/text.ts";
import { SessionNames, sessionLabel } from "../session-names.ts";
import { TurnPrinter } from "../turn-printer.ts";
import type { Screen } from "./screen.ts";

export type ChatOptions = { client: Client; screen: Screen; style: Style; width: number };

export class Chat {
  readonly client: Client;
  readonly screen: Screen;
  readonly style: Style;
  readonly width: number;
  #session: SessionView;
  #state: SessionState;
  #printer: TurnPrinter;
  readonly #names: SessionNames;
  /** Messages of this chat without an answer yet. */
  readonly #open = new Set<MessageId>();
  readonly #mine = new Set<MessageId>();
  readonly #inTurn = new Map<TurnId, readonly MessageId[]>();
  /** What sessions ask, oldest first. */
  readonly #asks = new Map<AskId, Ask>();
  #lastError: string | null = null;
  #onSettled: (() => void) | null = null;
  #used = false;

  constructor(options: ChatOptions, session: SessionView, known: readonly SessionView[]) {
    this.client = options.client;
    this.screen = options.screen;
    this.style = options.style;
    this.width = options.width;
    this.#names = new SessionNames([...known, session]);
    this.#session = session;
    this.#state = session.state;
    this.#printer = this.#newPrinter();
    this.#showState();
  }

  get session(): SessionView {
    return this.#session;
  }

  get working(): boolean {
    return this.#state === "working" || this.#open.size > 0;
  }

  /** False when nothing was ever said in the session this chat started with. */
  get used(): boolean {
    return this.#used;
  }

  /** Follows everything that happens until the signal aborts. */
  async follow(after: number, signal: AbortSignal): Promise<void> {
    const onReconnect = (attempt: number) => {
      if (attempt === 1) this.#note("the connection to the daemon broke; trying again …");
    };
    for await (const item of followEvents(this.client, { after, live: true, signal, onReconnect }))
      await this.take(item);
  }

  /** One thing that happened. */
  async take(item: Followed): Promise<void> {
    if (item.kind === "delta") {
      if (item.delta.session === this.#session.id) this.#printer.show(item);
      return;
    }
    const { event } = item;
    this.#names.learn(event);
    this.#learnAsk(event);
    if (event.session === this.#session.id) this.#ours(event, item);
    else this.#others(event);
    await this.#settle(event);
  }

  async say(text: string): Promise<void> {
    const id = newId("msg", Date.now());
    this.#used = true;
    this.#open.add(id);
    this.#mine.add(id);
    try {
      const { receipt } = await this.client.call("sendMessage", {
        path: { session: this.#session.id },
        body: { id, text },
      });
      if (receipt.session !== this.#session.id) this.#note(receipt.text);
      else if (receipt.outcome === "queued") this.#note(`queued, position ${receipt.position}`);
    } catch (error) {
      this.#answered([id]);
      throw error;
    }
  }

  /** The ask that an answer typed here is for: this session's first, else the first of any. */
  get ask(): Ask | undefined {
    const open = [...this.#asks.values()];
    return open.find((ask) => ask.session === this.#session.id) ?? open[0];
  }

  /** Shows what an agent asks; it is then what an answer is for. */
  showAsk(ask: Ask): void {
    this.#asks.set(ask.id, ask);
    const ways = ask.options.length === 0 ? "<text>" : ask.options.join(", ");
    this.#printer.finish();
    this.screen.line(this.style.yellow(`${this.#names.label(ask.session)} asks: ${oneLine(ask.question)}`));
    if (ask.kind === "permission") this.screen.line(truncate(JSON.stringify(ask.detail) ?? "", this.width));
    this.screen.line(this.style.yellow(`  /answer ${ways}`));
  }

  /** Resolves when everything said here has been answered. */
  async answered(): Promise<void> {
    while (this.#open.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onSettled = resolve;
      });
    }
  }

  /** Stops waiting for answers: nothing will come any more. */
  abandon(): void {
    this.#answered([...this.#open]);
  }

  switchTo(session: SessionView): void {
    this.#printer.finish();
    this.#session = session;
    this.#state = session.state;
    this.#used = true;
    this.#names.add(session);
    this.#printer = this.#newPrinter();
    this.#showState();
  }

  #learnAsk(event: Event): void {
    if (event.type === "ask.settled") this.#asks.delete(event.data.ask);
    if (event.type === "ask.opened") this.showAsk(event.data.ask);
  }

  #newPrinter(): TurnPrinter {
    const { screen } = this;
    return new TurnPrinter({ text: (text) => screen.text(text), aside: (line) => screen.line(line) }, this.style);
  }

  #ours(event: Event, item: Followed): void {
    if (event.type !== "ask.opened") this.#printer.show(item);
    switch (event.type) {
      case "session.state":
        this.#state = event.data.state;
        if (event.data.error !== null && event.data.error !== this.#lastError)
          this.screen.line(this.style.red(truncate(event.data.error, this.width)));
        this.#showState();
        break;
      case "session.renamed":
        this.#session = { ...this.#session, handle: event.data.handle };
        this.#showState();
        break;
      case "session.closed":
        this.#state = "closed";
        this.#showState();
        break;
      case "message.admitted":
        this.#used = true;
        if (this.#mine.has(event.data.message.id)) break;
        this.#note(`← ${senderName(event.data.message)}: ${event.data.message.body}`);
        break;
      case "turn.ended":
        if (event.data.reason !== "completed") this.#ending(event.data);
        void this.client
          .call("markSeen", { path: { session: this.#session.id }, body: { seq: event.seq } })
          .catch(() => {});
        break;
      default:
    }
  }

  #ending({ reason, error }: Extract<Event, { type: "turn.ended" }>["data"]): void {
    this.#lastError = error?.message ?? null;
    const paint = reason === "failed" ? this.style.red : this.style.yellow;
    this.screen.line(paint(endWords(reason, error)));
    if (error?.fix !== undefined) this.screen.line(`  ${error.fix}`);
  }

  #others(event: Event): void {
    if (event.type === "config.rejected") this.#note(`configuration not taken: ${event.data.problems.join("; ")}`);
    if (event.session === null) return;
    const who = this.#names.label(event.session);
    if (event.type === "turn.ended") {
      const what =
        event.data.reason === "completed"
          ? `finished: ${event.data.text}`
          : endWords(event.data.reason, event.data.error);
      this.#note(`· ${who} ${what}`);
    }
    if (event.type === "session.state" && event.data.state === "error")
      this.#note(`· ${who} is in error: ${event.data.error}`);
  }

  async #settle(event: Event): Promise<void> {
    switch (event.type) {
      case "turn.started":
        this.#inTurn.set(event.data.turn, event.data.messages);
        break;
      case "message.steered":
        this.#inTurn.set(event.data.turn, [...(this.#inTurn.get(event.data.turn) ?? []), event.data.message]);
        break;
      case "turn.ended": {
        const messages = this.#inTurn.get(event.data.turn) ?? [];
        this.#inTurn.delete(event.data.turn);
        if (event.data.reason === "lost") await this.#askAfter(messages);
        else this.#answered(messages);
        break;
      }
      case "message.cancelled":
      case "message.lost":
        this.#answered([event.data.message]);
        break;
      case "session.closed":
        this.#answered(event.data.refused);
        break;
      default:
    }
  }

  /** A turn that a crash cut says nothing of its messages: some are sent again, some not. */
  async #askAfter(messages: readonly MessageId[]): Promise<void> {
    for (const id of messages) {
      if (!this.#open.has(id)) continue;
      const { message } = await this.client.call("getMessage", { path: { message: id } });
      if (message.status !== "pending" && message.status !== "dispatched") this.#answered([id]);
    }
  }

  #answered(messages: readonly MessageId[]): void {
    for (const id of messages) this.#open.delete(id);
    if (this.#open.size > 0) return;
    this.#onSettled?.();
    this.#onSettled = null;
  }

  #showState(): void {
    const state = {
      ready: this.style.green,
      working: this.style.yellow,
      error: this.style.red,
      closed: this.style.dim,
    };
    this.screen.setPrompt(`${this.style.cyan(sessionLabel(this.#session))} ${state[this.#state](this.#state)} › `);
    this.screen.setBusy(this.#state === "working");
  }

  #note(text: string): void {
    this.screen.line(this.style.dim(truncate(text, this.width)));
  }
}

/** What went wrong, as one line of the chat. */
export function complain(chat: Chat, error: unknown): void {
  const { message, hint } = describeError(error);
  chat.screen.line(chat.style.red(hint === undefined ? message : `${message} (${hint})`));
  if (!isAegisError(error) && !(error instanceof Error)) throw error;
}

export function resolveSession(client: Client, session: string | SessionId): Promise<SessionView> {
  return client.call("getSession", { path: { session } }).then((answer) => answer.session);
}
