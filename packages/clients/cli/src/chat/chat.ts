/** A conversation with one session at a time, printed line by line; other sessions keep working. */
import type { Client } from "@aegis/client/client.ts";
import { type FollowedItem, followEvents } from "@aegis/client/events.ts";
import { senderName } from "@aegis/client/views/words.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { type MessageId, newId, type SessionId, type TurnId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { Usage } from "@aegis/contract/turn.ts";
import { endWords } from "../format/event-line.ts";
import { SessionNames } from "../format/session-names.ts";
import type { Style } from "../format/style.ts";
import { truncate } from "../format/text.ts";
import { usageWords } from "../format/usage.ts";
import { describeError } from "../program/failure.ts";
import type { CliContext } from "../terminal/context.ts";
import { type TurnOutput, TurnPrinter } from "../turn-printer.ts";
import { ChatAsks } from "./chat-asks.ts";

export type ChatOptions = {
  client: Client;
  out: TurnOutput;
  style: Style;
  env: CliContext["env"];
  /** The current number of terminal columns; it can change. */
  width: () => number;
  /** The current number of terminal rows; null if output is not paged. */
  rows: (() => number) | null;
};

export class Chat {
  readonly client: Client;
  readonly out: TurnOutput;
  readonly style: Style;
  readonly env: CliContext["env"];
  readonly #width: () => number;
  #session: SessionView;
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

  constructor(options: ChatOptions, session: SessionView, known: readonly SessionView[]) {
    const { client, out, style, env, width, rows } = options;
    this.client = client;
    this.out = out;
    this.style = style;
    this.env = env;
    this.#width = width;
    this.#names = new SessionNames([...known, session]);
    this.asks = new ChatAsks({ client, out, style, width, rows, names: this.#names });
    this.#session = session;
    this.#context = session.context ?? null;
    this.#printer = new TurnPrinter(this.out, this.style);
  }

  get session(): SessionView {
    return this.#session;
  }

  get width(): number {
    return this.#width();
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
  async take(item: FollowedItem): Promise<void> {
    if (item.kind === "delta") {
      if (item.delta.session === this.#session.id) this.#printer.show(item);
      return;
    }
    const { event } = item;
    this.#names.learn(event);
    if (event.type === "ask.opened" || event.type === "ask.settled") {
      this.#printer.finish();
      await this.asks.learn(event, this.#session.id);
    }
    if (event.session === this.#session.id) this.#ours(event, item);
    else this.#others(event);
    await this.#settle(event);
  }

  async say(text: string): Promise<void> {
    const id = newId("msg", Date.now());
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
    this.#session = session;
    this.#context = session.context ?? null;
    this.#names.add(session);
    this.#printer = new TurnPrinter(this.out, this.style);
    this.asks.switched(session.id);
  }

  #ours(event: Event, item: FollowedItem): void {
    if (event.type !== "ask.opened" && event.type !== "ask.settled") this.#printer.show(item);
    switch (event.type) {
      case "session.state":
        if (event.data.error !== null && event.data.error !== this.#lastError)
          this.out.aside(this.style.red(truncate(event.data.error, this.width)));
        break;
      case "session.renamed":
        this.#session = { ...this.#session, handle: event.data.handle };
        break;
      case "message.admitted":
        if (this.#mine.has(event.data.message.id)) break;
        this.#note(`← ${senderName(event.data.message)}: ${event.data.message.body}`);
        break;
      case "turn.context":
        this.#context = event.data;
        break;
      case "turn.ended":
        if (event.data.reason !== "completed") this.#ending(event.data);
        this.#tellUsage(event.data.usage);
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
    this.out.aside(paint(endWords(reason, error)));
    if (error?.fix !== undefined) this.out.aside(`  ${error.fix}`);
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

  #note(text: string): void {
    this.out.aside(this.style.dim(truncate(text, this.width)));
  }
}

/** Shows an error as one line of the chat. */
export function complain(chat: Chat, error: unknown): void {
  const { message, hint } = describeError(error);
  chat.out.aside(chat.style.red(hint === undefined ? message : `${message} (${hint})`));
  if (!isAegisError(error) && !(error instanceof Error)) throw error;
}

export function resolveSession(client: Client, session: string | SessionId): Promise<SessionView> {
  return client.call("getSession", { path: { session } }).then((answer) => answer.session);
}
