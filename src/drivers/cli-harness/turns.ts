/**
 * The turns of one conversation: those we ask for, one at a time, and those the harness starts by itself. Knows when a
 * turn has to be ended from outside, and leaves to the driver how.
 */
import type { TurnError, Usage } from "../../contract/turn.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText } from "../../lib/log.ts";
import type { ConversationHost, DriverEvent, Prompt, TurnEnded } from "../driver.ts";
import { silentFor, Waits } from "./inactivity.ts";
import { LiveTurn } from "./live-turn.ts";

/** What the driver of one harness does for a turn. */
export type TurnPort = {
  /** What users call the harness. */
  name: string;
  alive(): boolean;
  /** Waits for what must be there before a prompt is handed over. Cancelling a turn that waits here costs nothing. */
  prepare(turn: PromptTurn): Promise<void>;
  /** Hands the prompt over. A rejection fails the turn. */
  deliver(prompt: Prompt, turn: PromptTurn): Promise<void>;
  /** Asks the harness to end the turn; repeated until it does. */
  interrupt(turn: PromptTurn): void;
  /** Ends a process that does not listen. */
  kill(): Promise<void>;
  /** When the harness was last heard of. */
  lastActivity(): number;
};

/** A turn that a message of ours started. */
export class PromptTurn extends LiveTurn {
  /** What the harness calls the message or the turn, for `interrupt`. */
  name: string | null = null;
  isSent = false;
  /** The harness works on it: what it says from now on belongs to this turn. */
  isTakenUp = false;
  isAccepted = false;
  /** Why we end it before the harness does. */
  stopping: "cancel" | "timeout" | null = null;
}

const interruptDeadlineMs = 2000;
/** A harness may not interrupt what it has not started yet. */
const interruptEveryMs = 200;

export class Turns {
  readonly waits: Waits;
  readonly #port: TurnPort;
  readonly #host: ConversationHost;
  readonly #clock: Clock;
  readonly #inactivityMs: number;
  #turn: PromptTurn | null = null;
  #spontaneous: LiveTurn | null = null;

  constructor(port: TurnPort, options: { host: ConversationHost; clock: Clock; inactivityMs: number }) {
    this.#port = port;
    this.#host = options.host;
    this.#clock = options.clock;
    this.#inactivityMs = options.inactivityMs;
    this.waits = new Waits(options.clock);
  }

  /** The turn of ours that is under way. */
  get current(): PromptTurn | null {
    return this.#turn !== null && !this.#turn.isOver ? this.#turn : null;
  }

  /** Aborted with the turn under way, whoever started it. */
  get signal(): AbortSignal | null {
    return this.current?.signal ?? this.#spontaneous?.signal ?? null;
  }

  async *send(prompt: Prompt, signal: AbortSignal): AsyncIterable<DriverEvent> {
    if (this.current !== null) {
      const message = `${this.#port.name} was sent a message while a turn was under way.`;
      yield { type: "turn.ended", reason: "failed", error: { code: "internal", message }, usage: null };
      return;
    }
    const turn = new PromptTurn();
    this.#turn = turn;
    void this.#run(turn, prompt, signal);
    try {
      yield* turn.events;
    } finally {
      // A reader that leaves early gives the turn up.
      if (!turn.isOver) await this.#stop(turn, "cancel");
      if (this.#turn === turn) this.#turn = null;
    }
  }

  /** The harness works on our message now. One that joined a turn of the harness's own is answered together with it. */
  takeUp(turn: PromptTurn): void {
    turn.isTakenUp = true;
    this.#spontaneous?.end({ reason: "completed", error: null, usage: null });
    this.#spontaneous = null;
  }

  accept(turn: PromptTurn): void {
    if (!turn.isAccepted) turn.push([{ type: "accepted" }]);
    turn.isAccepted = true;
  }

  /** Gives events to the turn they belong to. Between turns only notices are kept. */
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

  /** The harness ended the turn it was at. */
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

  /** The process is gone. */
  died(error: TurnError): void {
    const turn = this.current;
    if (turn !== null && turn.stopping !== null) this.#endStopped(turn, null);
    else turn?.end({ reason: "failed", error, usage: null });
    this.#spontaneous?.end({ reason: "failed", error, usage: null });
    this.#spontaneous = null;
  }

  /** The conversation is closed by its owner. */
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
      if (!this.#port.alive()) throw new Error("its process is gone");
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
    // A process that ended meanwhile reports its end with more to say about it.
    if (!isAlive && turn.isSent) return;
    const message = `${this.#port.name} did not take the message: ${errorText(error)}.`;
    turn.end({ reason: "failed", error: { code: isAlive ? "protocol" : "died", message }, usage: null });
  }

  /** Asks the harness to end the turn; one that does not is ended with its process. */
  async #stop(turn: PromptTurn, why: "cancel" | "timeout"): Promise<void> {
    if (turn.isOver || turn.stopping !== null) return turn.over;
    turn.stopping = why;
    // What runs then is a turn that nobody asked to end.
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
    const message = `${this.#port.name} said nothing for ${minutes} minutes and was interrupted.`;
    const fix = "Send the message again, or raise options.inactivity_minutes of the agent.";
    turn.end({ reason: "failed", error: { code: "timeout", message, fix }, usage });
  }
}

/** What only a turn brings. */
function needsTurn(event: DriverEvent): boolean {
  return ["text_delta", "thinking_delta", "text", "thinking", "tool_call", "compaction"].includes(event.type);
}
