/**
 * The turns of one conversation: those that Aegis requests, one at a time, and those that the harness starts by itself.
 * Decides when a turn must be ended from outside; the driver knows how.
 */
import type { TurnError, Usage } from "@aegis/contract/turn.ts";
import { AsyncQueue } from "@aegis/lib/async-queue.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { sizeOf } from "@aegis/lib/cut-text.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { ConversationHost, ConversationSpec, DriverEvent, Prompt, TurnEnded } from "../driver.ts";
import { silentFor, Waits } from "./inactivity.ts";

/** What the driver of one harness does for a turn. */
export type TurnPort = {
  /** The harness's name for users. */
  name: string;
  alive(): boolean;
  /**
   * Waits for everything that must be ready before the delivery of a prompt. Cancelling a turn here has no side effect.
   */
  prepare(turn: PromptTurn): Promise<void>;
  /** Delivers the prompt. A rejection fails the turn. */
  deliver(prompt: Prompt, turn: PromptTurn): Promise<void>;
  /** Asks the harness to end the turn; called repeatedly until it does. */
  interrupt(turn: PromptTurn): void;
  /** Kills a process that does not respond. */
  kill(): Promise<void>;
  /** When the harness last sent something. */
  lastActivity(): number;
};

/** One running turn: the events for its reader, and exactly one end, for every cause. */
export class LiveTurn {
  readonly events = new TurnEvents();
  /** Resolves when the turn ends. Never rejects. */
  readonly over: Promise<void>;
  readonly #closing = new AbortController();
  readonly #over = Promise.withResolvers<void>();

  constructor() {
    this.over = this.#over.promise;
  }

  /** Aborts when the turn ends, to stop work that belongs only to it. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  get isOver(): boolean {
    return this.#closing.signal.aborted;
  }

  push(events: readonly DriverEvent[]): void {
    for (const event of events) this.events.push(event);
  }

  /** Only the first end counts. */
  end(ended: Omit<TurnEnded, "type">): void {
    if (this.isOver) return;
    this.events.push({ type: "turn.ended", ...ended });
    this.events.end();
    this.#closing.abort();
    this.#over.resolve();
  }
}

/** A turn started by a message from Aegis. */
export class PromptTurn extends LiveTurn {
  /** The harness's id of the message or the turn, for `interrupt`. */
  name: string | null = null;
  isSent = false;
  /** The harness works on the prompt: its output from now on belongs to this turn. */
  isTakenUp = false;
  isAccepted = false;
  /** Why Aegis ends the turn before the harness does. */
  stopping: "cancel" | "timeout" | null = null;
}

const interruptDeadlineMs = 2000;
/** A harness may ignore an interrupt for a turn that it has not started yet. */
const interruptEveryMs = 200;

export class Turns {
  readonly waits: Waits;
  readonly #port: TurnPort;
  readonly #host: ConversationHost;
  readonly #clock: Clock;
  readonly #inactivityMs: number;
  #turn: PromptTurn | null = null;
  #spontaneous: LiveTurn | null = null;

  constructor(
    port: TurnPort,
    options: Pick<ConversationSpec, "host" | "plane"> & { clock: Clock; inactivityMs: number },
  ) {
    this.#port = port;
    this.#host = options.host;
    this.#clock = options.clock;
    this.#inactivityMs = options.inactivityMs;
    this.waits = new Waits(options.clock, options.plane);
  }

  /** The current turn that Aegis requested. */
  get current(): PromptTurn | null {
    return this.#turn !== null && !this.#turn.isOver ? this.#turn : null;
  }

  /** Null if the harness's output may be read; otherwise resolves when the earlier output has been stored. */
  room(): Promise<void> | null {
    return this.#turn?.events.room() ?? this.#spontaneous?.events.room() ?? null;
  }

  /** Aborts when the current turn ends, whether Aegis or the harness started it. */
  get signal(): AbortSignal | null {
    return this.current?.signal ?? this.#spontaneous?.signal ?? null;
  }

  async *send(prompt: Prompt, signal: AbortSignal): AsyncIterable<DriverEvent> {
    if (this.current !== null) {
      const message = `${this.#port.name} received a message while a turn was running.`;
      yield { type: "turn.ended", reason: "failed", error: { code: "internal", message }, usage: null };
      return;
    }
    const turn = new PromptTurn();
    this.#turn = turn;
    void this.#run(turn, prompt, signal);
    try {
      yield* turn.events;
    } finally {
      // A reader that stops early cancels the turn.
      if (!turn.isOver) await this.#stop(turn, "cancel");
      if (this.#turn === turn) this.#turn = null;
    }
  }

  /**
   * The harness now works on our message. A message that joined a turn of the harness's own is answered together with
   * it.
   */
  takeUp(turn: PromptTurn): void {
    turn.isTakenUp = true;
    this.#spontaneous?.end({ reason: "completed", error: null, usage: null });
    this.#spontaneous = null;
  }

  accept(turn: PromptTurn): void {
    if (!turn.isAccepted) turn.push([{ type: "accepted" }]);
    turn.isAccepted = true;
  }

  /** Passes events to the turn they belong to. Between turns only notices are kept. */
  emit(events: readonly DriverEvent[]): void {
    const turn = this.current;
    const isOurs = turn?.isTakenUp === true;
    if (!isOurs && this.#spontaneous === null && events.some(needsTurn)) {
      this.#spontaneous = new LiveTurn();
      this.#host.spontaneousTurn(this.#spontaneous.events);
    }
    const target = isOurs ? turn : this.#spontaneous;
    target?.push(events);
    if (target !== null) return;
    for (const event of events) {
      if (event.type === "notice") this.#host.notice({ level: event.level, text: event.text });
    }
  }

  /** The harness ended its current turn. */
  finish(before: readonly DriverEvent[], ended: TurnEnded): void {
    const turn = this.current;
    this.waits.clear();
    if (turn?.isTakenUp === true) {
      turn.push(before);
      if (turn.stopping !== null) this.#endStopped(turn, ended.usage);
      else turn.end(ended);
      return;
    }
    this.#spontaneous?.push(before);
    this.#spontaneous?.end(ended);
    this.#spontaneous = null;
  }

  /** The process has ended. */
  died(error: TurnError): void {
    const turn = this.current;
    if (turn !== null && turn.stopping !== null) this.#endStopped(turn, null);
    else turn?.end({ reason: "failed", error, usage: null });
    this.#spontaneous?.end({ reason: "failed", error, usage: null });
    this.#spontaneous = null;
  }

  /** The owner closes the conversation. */
  close(): void {
    this.current?.end({ reason: "cancelled", error: null, usage: null });
    this.#spontaneous?.end({ reason: "cancelled", error: null, usage: null });
    this.#spontaneous = null;
  }

  async #run(turn: PromptTurn, prompt: Prompt, signal: AbortSignal): Promise<void> {
    const cancel = () => void this.#stop(turn, "cancel");
    try {
      if (signal.aborted) return turn.end({ reason: "cancelled", error: null, usage: null });
      signal.addEventListener("abort", cancel, { once: true });
      await Promise.race([this.#spontaneous?.over, turn.over]);
      if (turn.isOver) return;
      if (!this.#port.alive()) throw new Error("its process has exited");
      await this.#port.prepare(turn);
      if (turn.isOver) return;
      turn.isSent = true;
      await this.#port.deliver(prompt, turn);
      const lastActivity = () => this.#port.lastActivity();
      const isSilent = await silentFor(this.#inactivityMs, lastActivity, this.waits, this.#clock, turn.signal);
      if (isSilent) await this.#stop(turn, "timeout");
    } catch (error) {
      this.#notDelivered(turn, error);
    } finally {
      await turn.over;
      signal.removeEventListener("abort", cancel);
    }
  }

  #notDelivered(turn: PromptTurn, error: unknown): void {
    const isAlive = this.#port.alive();
    // If the process ended meanwhile, the report of its end has more details.
    if (!isAlive && turn.isSent) return;
    const message = `${this.#port.name} did not accept the message: ${errorText(error)}.`;
    turn.end({ reason: "failed", error: { code: isAlive ? "protocol" : "died", message }, usage: null });
  }

  /** Asks the harness to end the turn; if it does not, kills its process. */
  async #stop(turn: PromptTurn, why: "cancel" | "timeout"): Promise<void> {
    if (turn.isOver || turn.stopping !== null) return turn.over;
    turn.stopping = why;
    // Not sent yet: a turn that runs in the harness now is its own and must not be interrupted.
    if (!turn.isSent) {
      this.#endStopped(turn, null);
      return;
    }
    const deadline = this.#clock.now() + interruptDeadlineMs;
    while (this.#port.alive() && this.#clock.now() < deadline) {
      this.#port.interrupt(turn);
      await this.#clock.sleep(interruptEveryMs, turn.signal).catch(() => {});
      if (turn.isOver) return;
    }
    await this.#port.kill();
    this.#endStopped(turn, null);
  }

  #endStopped(turn: PromptTurn, usage: Usage | null): void {
    if (turn.stopping !== "timeout") {
      turn.end({ reason: "cancelled", error: null, usage });
      return;
    }
    const minutes = this.#inactivityMs / 60_000;
    const message = `${this.#port.name} was silent for ${minutes} minutes and was interrupted.`;
    const fix = "Send the message again, or raise options.inactivity_minutes of the agent.";
    turn.end({ reason: "failed", error: { code: "timeout", message, fix }, usage });
  }
}

/** True for events that exist only inside a turn. */
function needsTurn(event: DriverEvent): boolean {
  return ["text_delta", "thinking_delta", "text", "thinking", "tool_call", "compaction"].includes(event.type);
}

/** In characters, approximately. The harness is not read while this much waits to be stored. */
const mostWaiting = 1024 * 1024;
/** While this much waits, text deltas are merged up to this length. */
const mergeFrom = 16 * 1024;
const longestPiece = 16 * 1024;
const eventWeight = 64;

/** The events of one turn, between the driver that reads them from a harness and the runtime that stores them. */
export class TurnEvents extends AsyncQueue<DriverEvent> {
  constructor() {
    super({ weigh, most: mostWaiting, merge, mergeFrom });
  }
}

function weigh(event: DriverEvent): number {
  const text = event.type === "text_delta" || event.type === "thinking_delta" ? event.text.length : sizeOf(event);
  return eventWeight + text;
}

/** Merging keeps the same text in the same order. */
function merge(before: DriverEvent, after: DriverEvent): DriverEvent | null {
  if (before.type !== "text_delta" && before.type !== "thinking_delta") return null;
  if (after.type !== before.type || after.message !== before.message) return null;
  if (before.text.length + after.text.length > longestPiece) return null;
  return { ...before, text: before.text + after.text };
}
