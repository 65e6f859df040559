/** Writes what a driver says during one turn: durable items as events, deltas only to those who watch. */
import type { LiveDelta, NewEvent } from "../../contract/event.ts";
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { Usage } from "../../contract/turn.ts";
import type { DriverEvent, TurnEnded } from "../../drivers/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Persist } from "../../store/persist.ts";
import { costOf, type Price } from "../registry/prices.ts";
import type { FindPrice } from "./pricing.ts";

/** How long a driver has to end a turn that was cut before its conversation is given up. */
const abortDeadlineMs = 10_000;
const longestOutput = 256 * 1024;
/** What a harness says of itself, also when it has not read the prompt. */
const saysNothing: ReadonlySet<DriverEvent["type"]> = new Set(["mode", "notice", "raw", "context"]);

/** What becomes of an agent's text before it is written down or shown. */
export interface OutgoingText {
  /** Whether text is kept back until it is complete: nobody watches it grow then. */
  readonly isHeld: boolean;
  /** The text to use, or null to withhold it. Never rejects. */
  pass(said: { session: SessionId; turn: TurnId; text: string }): Promise<string | null>;
}

export type RecorderOptions = {
  session: SessionId;
  turn: TurnId;
  persist: Persist;
  clock: Clock;
  publishDelta: (delta: LiveDelta) => void;
  outgoing: OutgoingText;
  price: FindPrice;
};

export class TurnRecorder {
  readonly #options: RecorderOptions;
  #usage: Usage | null = null;
  #model: string | null = null;
  #price: Promise<Price | null> | null = null;
  #lastMessage: string | null = null;
  #text = "";
  #isAnswering = false;
  /** How much of each text has been told as deltas since it was last told whole. */
  readonly #streamed = new Map<string, number>();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** The whole last assistant message so far. */
  get text(): string {
    return this.#text;
  }

  /** The harness has the prompt, or has begun to answer it. */
  get isAnswering(): boolean {
    return this.#isAnswering;
  }

  get usage(): Usage | null {
    return this.#usage;
  }

  /** With what it cost, where the harness does not say it and the price of its model is known. */
  async priced(usage: Usage): Promise<Usage> {
    if (usage.cost !== null) return usage;
    this.#price ??= this.#options.price(this.#options.session, this.#model);
    const price = await this.#price;
    return price === null ? usage : { ...usage, cost: costOf(usage, price) };
  }

  /** Tells whoever watches the turn. */
  async note(text: string): Promise<void> {
    await this.#record({ type: "notice", level: "warning", text });
  }

  /** Records everything up to the end of the turn and returns that end. Throws what the driver throws. */
  async consume(events: AsyncIterable<DriverEvent>, signal: AbortSignal): Promise<TurnEnded> {
    const iterator = events[Symbol.asyncIterator]();
    while (true) {
      const step = await this.#nextOrGiveUp(iterator.next(), signal);
      if (step === "gave up") return ended("cancelled", null);
      if (step.done) return protocolEnd("the driver stopped without ending the turn");
      if (step.value.type === "turn.ended") {
        await iterator.return?.();
        return step.value;
      }
      await this.#take(step.value);
    }
  }

  async #nextOrGiveUp<T>(next: Promise<T>, signal: AbortSignal): Promise<T | "gave up"> {
    const giveUp = new AbortController();
    const deadline = aborted(signal, giveUp.signal)
      .then(() => this.#options.clock.sleep(abortDeadlineMs, giveUp.signal))
      .then(() => "gave up" as const);
    // The loser of the race below may still reject after it is over.
    deadline.catch(() => {});
    try {
      return await Promise.race([next, deadline]);
    } finally {
      // With a reason of its own, because the default one is an exception with a stack, made for every event.
      giveUp.abort("over");
    }
  }

  async #take(event: Exclude<DriverEvent, TurnEnded>): Promise<void> {
    const { session, turn, outgoing } = this.#options;
    if (event.type !== "text" || !outgoing.isHeld) return this.#record(event);
    const text = await outgoing.pass({ session, turn, text: event.text });
    if (text !== null) return this.#record({ ...event, text });
    // An earlier message must not pass for the answer that was withheld.
    if (event.message !== this.#lastMessage) this.#text = "";
    this.#lastMessage = event.message;
    this.#isAnswering = true;
    await this.#record({ type: "notice", level: "info", text: "A plugin withheld what the agent said." });
  }

  async #record(event: Exclude<DriverEvent, TurnEnded>): Promise<void> {
    const { session, turn, persist, publishDelta } = this.#options;
    if (!saysNothing.has(event.type)) this.#isAnswering = true;
    switch (event.type) {
      case "text_delta":
      case "thinking_delta": {
        const { message, text } = event;
        const type = event.type === "text_delta" ? "text" : "thinking";
        if (type === "text" && this.#options.outgoing.isHeld) return;
        const offset = this.#streamed.get(`${type}/${message}`) ?? 0;
        this.#streamed.set(`${type}/${message}`, offset + text.length);
        publishDelta({ type, session, turn, message, offset, text });
        return;
      }
      case "accepted":
        await persist(async (tx) => {
          await tx.turns.accept(turn);
          await tx.events.append({ type: "turn.accepted", session, data: { turn } }, this.#options.clock.now());
        });
        return;
      case "usage": {
        const { type: _, ...used } = event;
        return this.#spend(await this.priced(used));
      }
      case "mode":
        if (event.model === null) break;
        this.#model = event.model;
        this.#price = null;
        break;
      case "text":
        this.#text = event.message === this.#lastMessage ? `${this.#text}\n\n${event.text}` : event.text;
        this.#lastMessage = event.message;
        this.#streamed.delete(`text/${event.message}`);
        break;
      case "thinking":
        this.#streamed.delete(`thinking/${event.message}`);
        break;
    }
    const { type, ...item } = event.type === "tool_result" ? { ...event, output: capped(event.output) } : event;
    // The event union is made from the same item schemas, so the type and its data always belong together.
    const durable = { type: `turn.${type}`, session, data: { ...item, turn } } as NewEvent;
    await persist((tx) => tx.events.append(durable, this.#options.clock.now()));
  }

  /** What was used counts from now on, not only when the turn has ended. */
  async #spend(used: Usage): Promise<void> {
    const { session, turn, persist, clock } = this.#options;
    const sum = addUsage(this.#usage, used);
    this.#usage = sum;
    await persist(async (tx) => {
      await tx.turns.spend(turn, sum);
      await tx.events.append({ type: "turn.usage", session, data: { ...used, turn } }, clock.now());
    });
  }
}

export function ended(reason: TurnEnded["reason"], error: TurnEnded["error"]): TurnEnded {
  return { type: "turn.ended", reason, error, usage: null };
}

function addUsage(sum: Usage | null, more: Usage): Usage {
  return {
    input: (sum?.input ?? 0) + more.input,
    cache_read: (sum?.cache_read ?? 0) + more.cache_read,
    cache_write: (sum?.cache_write ?? 0) + more.cache_write,
    output: (sum?.output ?? 0) + more.output,
    cost: more.cost === null ? (sum?.cost ?? null) : (sum?.cost ?? 0) + more.cost,
  };
}

function protocolEnd(message: string): TurnEnded {
  return ended("failed", { code: "protocol", message });
}

function capped(output: string): string {
  if (output.length <= longestOutput) return output;
  return `${output.slice(0, longestOutput)}\n[${output.length - longestOutput} more characters were cut]`;
}

/** Resolves when `signal` aborts; rejects when `dispose` does. */
function aborted(signal: AbortSignal, dispose: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true, signal: dispose });
    dispose.addEventListener("abort", () => reject(dispose.reason), { once: true });
  });
}
