/** What `run` and `send --wait` do about asks of the session whose answer they wait for, and of those that work for it. */
import type { Client } from "../../../client/client.ts";
import { type Followed, followEvents } from "../../../client/events.ts";
import type { Ask } from "../../../contract/ask.ts";
import { AegisError } from "../../../contract/errors.ts";
import type { MessageId } from "../../../contract/ids.ts";
import type { SessionView } from "../../../contract/session.ts";
import type { TurnPrinter } from "../../turn-printer.ts";
import { answerAsk } from "../ask/find-ask.ts";

export type WaitingAsksOptions = {
  client: Client;
  printer: TurnPrinter;
  message: MessageId;
  /** The session that has the message. */
  place: () => Pick<SessionView, "id" | "handle">;
  /** Deny what the turn of the message asks, and wait for no other ask. */
  noAsk: boolean;
};

export class WaitingAsks {
  readonly #options: WaitingAsksOptions;
  readonly #blocked = Promise.withResolvers<never>();
  readonly #seen = new Set<string>();
  /** Whether the current turn of the session answers the message. */
  #isOurTurn = false;

  constructor(options: WaitingAsksOptions) {
    this.#options = options;
    this.#blocked.promise.catch(() => {});
  }

  /** Rejects with `conflict` when only a person could continue, and the caller does not want to wait for one. */
  get blocked(): Promise<never> {
    return this.#blocked.promise;
  }

  take(item: Followed): void {
    if (item.kind !== "event") return;
    const { event } = item;
    if (event.type === "turn.started") this.#isOurTurn = event.data.messages.includes(this.#options.message);
    else if (event.type === "ask.opened") this.#opened(event.data.ask);
    else if (event.type === "ask.settled") this.#options.printer.show(item);
  }

  /** Shows asks that were opened before: the message waits behind them. */
  async showEarlier(): Promise<void> {
    const { asks } = await this.#options.client.call("listAsks", {});
    for (const ask of asks) if (ask.status === "open" && (this.#isOwn(ask) || this.#isBelow(ask))) this.#opened(ask);
  }

  /** Shows asks of subagents, and of sessions with a task or a run of this session. Never throws. */
  async followOthers(after: number, signal: AbortSignal): Promise<void> {
    try {
      for await (const item of followEvents(this.#options.client, { after, signal, reached: true })) {
        if (item.kind !== "event" || item.event.session === this.#options.place().id) continue;
        const { event } = item;
        if (event.type === "ask.opened" && this.#isBelow(event.data.ask)) this.#opened(event.data.ask);
        if (event.type === "ask.settled" && this.#seen.has(event.data.ask)) this.#options.printer.show(item);
      }
    } catch {
      // The stream of the session itself decides how the command ends.
    }
  }

  #isOwn(ask: Ask): boolean {
    return ask.session === this.#options.place().id;
  }

  #isBelow({ origin }: Ask): boolean {
    const { id, handle } = this.#options.place();
    return (
      origin !== null && (origin.parents.some(({ session }) => session === id) || origin.requesters.includes(handle))
    );
  }

  #opened(ask: Ask): void {
    if (this.#seen.has(ask.id)) return;
    this.#seen.add(ask.id);
    const { printer, noAsk, client, message } = this.#options;
    printer.ask(ask, Date.now());
    if (!noAsk) return;
    if (this.#isOurTurn && this.#isOwn(ask) && ask.options.includes("deny")) {
      answerAsk(client, ask, "deny", "cli").catch((error: unknown) => this.#blocked.reject(error));
      return;
    }
    const who = ask.origin?.handle ?? "the session";
    const error = new AegisError("conflict", `${who} waits for a person to answer ${ask.id}`, {
      hint: `aegis ask show ${ask.id} shows it; the message ${message} is kept`,
    });
    this.#blocked.reject(error);
  }
}
