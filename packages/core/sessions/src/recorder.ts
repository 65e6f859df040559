/**
 * Records a driver's output during one turn: durable items as events, deltas only to subscribers. Streaming text is
 * also saved to the turn's row at intervals, so that an interrupted turn keeps it.
 */
import type { LiveDelta, NewEvent } from "@aegis/contract/event.ts";
import type { HookEvent } from "@aegis/contract/hook.ts";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Usage } from "@aegis/contract/turn.ts";
import type { DriverEvent, TurnEnded } from "@aegis/drivers/driver.ts";
import { costOf } from "@aegis/drivers/prices.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { cutText } from "@aegis/lib/cut-text.ts";
import type { OverflowFiles } from "@aegis/lib/overflow.ts";
import type { Redact, RedactedStream } from "@aegis/lib/redact.ts";
import { onAbort, unlessAborted } from "@aegis/lib/until-aborted.ts";
import type { StoreTx } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import type { FindPrice, ModelPrice } from "./pricing.ts";

import { reportedTitle } from "./titles.ts";
import { defaultTurnLimits, TurnBounds, TurnText } from "./turn-output.ts";

/** The limit of a turn's last message. A truncated message ends with a line that says so. */
const longestAnswer = defaultTurnLimits.event + 1024;
/** The maximum streaming time that a crash may lose. */
const keepEveryMs = 250;
/** How long a driver has to end an interrupted turn before Aegis gives up on its conversation. */
const abortDeadlineMs = 10_000;
type SaidText = Extract<DriverEvent, { type: "text" | "thinking" }>;
/** A write that joins a transaction. It may run again if the transaction is retried. */
export type HeldWrite = (tx: StoreTx) => Promise<void>;
type DurableItem = Exclude<DriverEvent, TurnEnded | { type: "accepted" | "title" | "text_delta" | "thinking_delta" }>;
/** Events about the harness itself, which do not prove that it has read the prompt. */
const saysNothing: ReadonlySet<DriverEvent["type"]> = new Set(["title", "mode", "notice", "raw", "context"]);

/** Filters an agent's text before it is stored or shown. */
export interface OutgoingText {
  /** The text to use, or null to withhold it. Never rejects. */
  pass(said: { session: SessionId; turn: TurnId; text: string }): Promise<string | null>;
}

export type RecorderOptions = {
  session: SessionId;
  turn: TurnId;
  transact: Transact;
  clock: Clock;
  publishDelta: (delta: LiveDelta) => void;
  redact: Redact;
  /** Redacts text that arrives in chunks. */
  redactedStream: () => RedactedStream;
  outgoing: OutgoingText;
  /** The events that have hooks at the moment. Text that hooks change is not streamed: it must be complete. */
  hookEvents: ReadonlySet<HookEvent>;
  price: FindPrice;
  /** Stores what is too large for an event. */
  overflow: OverflowFiles;
};

export class TurnRecorder {
  readonly #options: RecorderOptions;
  #usage: Usage | null = null;
  #model: string | null = null;
  #price: Promise<ModelPrice> | null = null;
  readonly #said = new TurnText(longestAnswer);
  #isAnswering = false;
  /** The text that the turn's row contains. */
  #kept = "";
  #keeping = false;
  readonly #over = new AbortController();
  readonly #bounds: TurnBounds;
  /** The message whose text is not stored as an event because the turn exceeded its limit. */
  #unstored: string | null = null;
  #toldLimit = false;
  /** The last text, until the next event or the next event-loop iteration: a turn mostly ends right after it. */
  #held: HeldWrite | null = null;
  #holding: NodeJS.Immediate | null = null;
  /** Never rejects. */
  #flushed: Promise<void> = Promise.resolve();
  #flushFailure: { error: unknown } | null = null;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#bounds = new TurnBounds(options);
  }

  /** The last assistant message so far; a very long one is truncated. */
  get text(): string {
    if (this.#said.length <= longestAnswer) return this.#said.text;
    // The end may be part of a secret.
    return cutText(this.#options.redact(this.#said.text), longestAnswer, { total: this.#said.length });
  }

  /** Like `text`, including streaming text. Text that plugins must see first counts only when it is complete. */
  get textSoFar(): string {
    const isWhole = this.#options.hookEvents.has("message_sending") || this.#said.length > longestAnswer;
    return this.#options.redact(isWhole ? this.text : this.#said.soFar);
  }

  /** The harness has the prompt or has started to answer it. */
  get isAnswering(): boolean {
    return this.#isAnswering;
  }

  get usage(): Usage | null {
    return this.#usage;
  }

  /** Adds the model, and the cost if the harness does not report it and the price of the model is known. */
  async priced(usage: Usage): Promise<Usage> {
    this.#price ??= this.#options.price(this.#options.session, this.#model);
    const { model, price } = await this.#price;
    return { ...usage, model, cost: usage.cost ?? (price === null ? null : costOf(usage, price)) };
  }

  /** Notifies subscribers of the turn. */
  async note(text: string): Promise<void> {
    await this.#record({ type: "notice", level: "warning", text });
  }

  /** Takes over a write that is still held, for the transaction that ends the turn. Earlier writes are durable. */
  async takeHeld(): Promise<HeldWrite | null> {
    const held = this.#held;
    this.#release();
    await this.#flushed;
    this.#throwFailure();
    return held;
  }

  /** Saves the text so far. */
  async keep(): Promise<void> {
    const { turn } = this.#options;
    await this.#flush();
    if (this.textSoFar === this.#kept) return;
    // Read again at the time of the write, because more text may have arrived.
    this.#kept = await this.#transact(async (tx) => {
      const text = this.textSoFar;
      await tx.turns.say(turn, text);
      return text;
    });
  }

  /** The turn was interrupted: records the streamed text so far. */
  async recordUnfinished(): Promise<void> {
    for (const said of this.#said.unfinished) {
      const rest = this.#bounds.rest("text", said.message);
      await this.#take({ type: "text", message: said.message, text: said.text + rest });
    }
  }

  /** Records everything up to the end of the turn and returns that end. Throws what the driver throws. */
  async consume(events: AsyncIterable<DriverEvent>, signal: AbortSignal): Promise<TurnEnded> {
    const iterator = events[Symbol.asyncIterator]();
    const over = new AbortController();
    const late = new AbortController();
    const release = onAbort(signal, () => {
      this.#options.clock.sleep(abortDeadlineMs, over.signal).then(
        () => late.abort(),
        () => {},
      );
    });
    try {
      while (true) {
        const step = await unlessAborted(iterator.next(), late.signal);
        if (step === "aborted") return ended("cancelled", null);
        if (step.done) return protocolEnd("the driver stopped without ending the turn");
        if (step.value.type === "turn.ended") {
          await iterator.return?.();
          await this.#storeLast();
          return step.value;
        }
        await this.#take(step.value);
      }
    } finally {
      release();
      over.abort("over");
    }
  }

  /** The turn is over: writes nothing more and closes open files. */
  async close(): Promise<void> {
    this.#over.abort("over");
    await this.#flush();
    await this.#bounds.close();
  }

  async #take(event: Exclude<DriverEvent, TurnEnded>): Promise<void> {
    const { session, turn, outgoing, hookEvents } = this.#options;
    if (event.type !== "text" || !hookEvents.has("message_sending")) return this.#record(event);
    // Truncated before plugins see it, and again after they changed it.
    const stored = await this.#bounds.whole("text", event.message, event.text, false);
    const said = stored ?? cutText(this.#options.redact(event.text), defaultTurnLimits.event);
    const passed = await outgoing.pass({ session, turn, text: said });
    if (passed !== null) {
      this.#isAnswering = true;
      const text = cutText(passed, longestAnswer);
      return stored === null ? this.#say(event, null, text) : this.#say(event, text);
    }
    this.#said.withheld(event.message);
    this.#isAnswering = true;
    await this.#record({ type: "notice", level: "info", text: "A plugin withheld what the agent said." });
  }

  async #record(event: Exclude<DriverEvent, TurnEnded>): Promise<void> {
    const { session, turn, publishDelta } = this.#options;
    if (!saysNothing.has(event.type)) this.#isAnswering = true;
    switch (event.type) {
      case "text_delta":
      case "thinking_delta": {
        const { message, text } = event;
        const type = event.type === "text_delta" ? "text" : "thinking";
        if (type === "text" && this.#options.hookEvents.has("message_sending")) {
          this.#bounds.count(type, message, text);
          this.#said.streamed(message, text);
          return;
        }
        // Subscribers get the text before this one first.
        await this.#flush();
        const shown = await this.#bounds.delta(type, message, text);
        if (type === "text") {
          this.#said.streamed(message, shown.text);
          this.#keepSoon();
        }
        if (shown.text !== "") publishDelta({ type, session, turn, message, ...shown });
        return;
      }
      case "accepted":
        await this.#transact(async (tx) => {
          await tx.turns.accept(turn);
          await tx.events.append({ type: "turn.accepted", session, data: { turn } }, this.#options.clock.now());
        });
        return;
      case "title":
        return this.#transact((tx) =>
          reportedTitle(tx, session, this.#options.redact(event.title), this.#options.clock.now()),
        );
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
      case "thinking":
        return this.#say(event, await this.#bounds.whole(event.type, event.message, event.text, true), event.text);
      case "tool_result":
        return this.#append(this.#bounds.item({ ...event, output: await this.#bounds.toolResult(event.output) }));
    }
    await this.#append(this.#bounds.item(event));
  }

  async #say({ type, message }: SaidText, text: string | null, unstored = ""): Promise<void> {
    if (type === "text") {
      this.#said.completed({ message, text: text ?? unstored });
      this.#unstored = text === null ? message : null;
    }
    if (text !== null) return this.#append({ type, message, text });
    if (this.#toldLimit) return;
    this.#toldLimit = true;
    await this.note(
      "The agent has written more in this turn than Aegis stores. Only its last message is kept from now on.",
    );
  }

  /** The answer is stored regardless of the turn's limit. */
  async #storeLast(): Promise<void> {
    const message = this.#unstored;
    this.#unstored = null;
    if (message !== null) await this.#append({ type: "text", message, text: this.text });
  }

  async #append(event: DurableItem): Promise<void> {
    const { session, turn } = this.#options;
    const { type, ...item } = event;
    // The event union is built from the same item schemas, so type and data always match.
    const durable = { type: `turn.${type}`, session, data: { ...item, turn } } as NewEvent;
    const write: HeldWrite = async (tx) => {
      await tx.events.append(durable, this.#options.clock.now());
      // In one transaction with its event, so that a crash cannot leave the row behind the events.
      if (type === "text") await tx.turns.say(turn, this.textSoFar);
    };
    if (type !== "text") return this.#transact(write);
    await this.#flush();
    this.#held = write;
    this.#holding = setImmediate(() => this.#startFlush());
  }

  /** Writes after everything that was recorded before, in one transaction with a held write. */
  async #transact<T>(unit: (tx: StoreTx) => Promise<T>): Promise<T> {
    const held = await this.takeHeld();
    return this.#options.transact(async (tx) => {
      await held?.(tx);
      return unit(tx);
    });
  }

  async #flush(): Promise<void> {
    this.#startFlush();
    await this.#flushed;
    this.#throwFailure();
  }

  #startFlush(): void {
    const held = this.#held;
    this.#release();
    if (held === null) return;
    this.#flushed = this.#flushed
      .then(() => this.#options.transact(held))
      .catch((error: unknown) => {
        this.#flushFailure ??= { error };
      });
  }

  /** Throws once that a held write has failed, to what is recorded next. */
  #throwFailure(): void {
    const failure = this.#flushFailure;
    this.#flushFailure = null;
    if (failure !== null) throw failure.error;
  }

  #release(): void {
    if (this.#holding !== null) clearImmediate(this.#holding);
    this.#holding = null;
    this.#held = null;
  }

  /** Saves the first chunk immediately, then at intervals. A later save or the end makes up for a failed one. */
  #keepSoon(): void {
    if (this.#keeping) return;
    this.#keeping = true;
    const again = async () => {
      await this.keep();
      await this.#options.clock.sleep(keepEveryMs, this.#over.signal);
      this.#keeping = false;
      if (this.textSoFar !== this.#kept) this.#keepSoon();
    };
    again().catch(() => {
      this.#keeping = false;
    });
  }

  /** Usage counts immediately, not only when the turn has ended. */
  async #spend(used: Usage): Promise<void> {
    const { session, turn, clock } = this.#options;
    const sum = addUsage(this.#usage, used);
    this.#usage = sum;
    await this.#transact(async (tx) => {
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
    model: more.model ?? sum?.model ?? null,
  };
}

function protocolEnd(message: string): TurnEnded {
  return ended("failed", { code: "protocol", message });
}
