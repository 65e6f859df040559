/** A conversation with one session at a time; other sessions keep working. Independent of the terminal. */
import type { Client } from "@aegis/client/client.ts";
import { type Followed, followEvents } from "@aegis/client/events.ts";
import { senderName } from "@aegis/client/views/words.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { type MessageId, newId, type SessionId, type TurnId } from "@aegis/contract/ids.ts";
import type { SessionState, SessionView } from "@aegis/contract/session.ts";
import type { Usage } from "@aegis/contract/turn.ts";
import { endWords } from "../format/event-line.ts";
import { SessionNames, sessionLabel } from "../format/session-names.ts";
import type { Style } from "../format/style.ts";
import { truncate } from "../format/text.ts";
import { usageWords } from "../format/usage.ts";
import { describeError } from "../program/failure.ts";
import type { CliContext } from "../terminal/context.ts";
import { TurnPrinter } from "../turn-printer.ts";
import { ChatAsks } from "./chat-asks.ts";
import type { Screen } from "./screen.ts";
import { WorkWatch } from "./work.ts";

export type ChatOptions = {
  client: Client;
  screen: Screen;
  style: Style;
  env: CliContext["env"];
  /** The current number of terminal columns; it can change. */
  width: () => number;
  /** The current number of terminal rows; null if output is not paged. */
  rows: (() => number) | null;
};

export class Chat {
  readonly client: Client;
  readonly screen: Screen;
  readonly style: Style;
  readonly env: CliContext["env"];
  readonly #width: () => number;
  #session: SessionView;
  #state: SessionState;
  #printer: TurnPrinter;
  readonly #names: SessionNames;
  /** Messages from this chat that are not answered yet. */
  readonly #open = new Set<MessageId>();
  readonly #mine = new Set<MessageId>();
  readonly #inTurn = new Map<TurnId, readonly MessageId[]>();
  readonly asks: ChatAsks;
  #lastError: string | null = null;
  #context: SessionView["context"] = null;
  #onSettled: (() => void) | null = null;
  #used = false;
  readonly #work = new WorkWatch();

  constructor(options: ChatOptions, session: SessionView, known: readonly SessionView[]) {
    this.client = options.client;
    this.screen = options.screen;
    this.style = options.style;
    this.env = options.env;
    this.#width = options.width;
    this.#names = new SessionNames([...known, session]);
    this.asks = new ChatAsks({ ...options, names: this.#names });
    this.#session = session;
    this.#state = session.state;
    this.#context = session.context ?? null;
    this.#printer = this.#newPrinter();
    this.#showState();
  }

  get session(): SessionView {
    return this.#session;
  }

  get width(): number {
    return this.#width();
  }

  get working(): boolean {
    return this.#state === "working" || this.#open.size > 0;
  }

  /** False if the session that this chat created never received a message. */
  get used(): boolean {
    return this.#used;
  }

  /** Follows all events until the signal aborts. */
  async follow(after: number, signal: AbortSignal): Promise<void> {
    const onReconnect = (attempt: number) => {
      if (attempt === 1) this.#note("lost the connection to the daemon; reconnecting …");
    };
    for await (const item of followEvents(this.client, { after, live: true, signal, onReconnect, reached: true }))
      await this.take(item);
  }

  /** Handles one event or delta. */
  async take(item: Followed): Promise<void> {
    if (item.kind === "delta") {
      if (item.delta.session === this.#session.id) this.#printer.show(item);
      return;
    }
    const { event } = item;
    this.#names.learn(event);
    if (event.type === "ask.opened" || event.type === "ask.settled") {
      this.#printer.finish();
      await this.asks.learn(event, this.#session.id);
      this.#showState();
    }
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
      else if (receipt.outcome === "queued")
        this.screen.queued(this.style.dim(truncate(`queued, position ${receipt.position}`, this.width)));
      if (receipt.outcome !== "queued") this.screen.settled();
    } catch (error) {
      this.#answered([id]);
      this.screen.settled();
      throw error;
    }
  }

  /** Resolves when every message from this chat has been answered. */
  async answered(): Promise<void> {
    while (this.#open.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onSettled = resolve;
      });
    }
  }

  /** Stops waiting for answers because no more events will come. */
  abandon(): void {
    this.#answered([...this.#open]);
  }

  switchTo(session: SessionView): void {
    this.#printer.finish();
    this.screen.settled();
    this.#work.reset();
    this.#session = session;
    this.#state = session.state;
    this.#context = session.context ?? null;
    this.#used = true;
    this.#names.add(session);
    this.#printer = this.#newPrinter();
    this.#showState();
    this.asks.switched(session.id);
  }

  #newPrinter(): TurnPrinter {
    const { screen } = this;
    return new TurnPrinter({ text: (text) => screen.text(text), aside: (line) => screen.line(line) }, this.style);
  }

  #ours(event: Event, item: Followed): void {
    if (this.#work.learn(event) && this.#state === "working" && !this.asks.waits(this.#session.id))
      this.screen.setWork(this.#work.look(Date.now()));
    if (event.type !== "ask.opened" && event.type !== "ask.settled") this.#printer.show(item);
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
      case "turn.context":
        this.#context = event.data;
        break;
      case "turn.ended":
        if (event.data.reason !== "completed") this.#ending(event.data);
        this.#tellUsage(event.data.usage);
        this.screen.settled();
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

  /** Shown after each turn for which the harness reports usage. */
  #tellUsage(usage: Usage | null): void {
    const words = usageWords(usage, this.#context);
    if (words !== null) this.#note(`· ${words}`);
  }

  #others(event: Event): void {
    if (event.type === "config.rejected") this.#note(`configuration not applied: ${event.data.problems.join("; ")}`);
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

  /** The end of a lost turn does not say what happens to its messages: some are sent again, some are not. */
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
    const waits = this.asks.waits(this.#session.id);
    const shown = waits ? this.style.yellow("needs you") : state[this.#state](this.#state);
    this.screen.setPrompt(`${this.style.cyan(sessionLabel(this.#session))} ${shown} › `);
    this.screen.setWork(this.#state === "working" && !waits ? this.#work.look(Date.now()) : null);
  }

  #note(text: string): void {
    this.screen.line(this.style.dim(truncate(text, this.width)));
  }
}

/** Shows an error as one line of the chat. */
export function complain(chat: Chat, error: unknown): void {
  const { message, hint } = describeError(error);
  chat.screen.line(chat.style.red(hint === undefined ? message : `${message} (${hint})`));
  if (!isAegisError(error) && !(error instanceof Error)) throw error;
}

export function resolveSession(client: Client, session: string | SessionId): Promise<SessionView> {
  return client.call("getSession", { path: { session } }).then((answer) => answer.session);
}
