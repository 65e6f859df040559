/**
 * Runs one turn at a time per session: takes the pending batch, lets the agent answer it and records the end. Every
 * turn that starts here gets exactly one end.
 */
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import { DriverError, type DriverEvent, type TurnEnded } from "@aegis/drivers/driver.ts";
import { errorText } from "@aegis/lib/log.ts";
import { Drains, SerialByKey } from "@aegis/lib/serial.ts";
import type { SteerOutcome } from "@aegis/nodes/session-processes.ts";
import type { HandOver, SessionRow, StoreTx } from "@aegis/store/store.ts";
import { whileAway } from "@aegis/store/transact.ts";
import { type BegunTurn, Delivery, type DeliveryOptions } from "./delivery.ts";
import { nextBatch, unansweredMessages } from "./interrupted-turn.ts";
import { ended, type RecorderOptions, TurnRecorder } from "./recorder.ts";
import { asStartFailure } from "./refused-start.ts";

type Running = { recorder: TurnRecorder; controller: AbortController; delivery: Delivery; done: Promise<void> };

/**
 * How long a sender waits for the confirmation that a message has joined; a harness in the middle of a step may take
 * longer.
 */
const steerWaitMs = 5_000;

export type TurnsOptions = DeliveryOptions &
  Omit<RecorderOptions, "session" | "turn"> & {
    /** This node; null without a cluster. Turns of a session run only on the session's node. */
    node: string | null;
    /** The node of a session; null if it has none. */
    nodeOf: (session: SessionId) => Promise<string | null>;
    /** Notifies senders that their messages will not be answered. Returns the sessions that got a message. */
    tellUnanswered: (
      tx: StoreTx,
      session: SessionRow,
      messages: readonly Message[],
      fate: { was: "blocked" | "lost"; reason: string },
    ) => Promise<readonly SessionId[]>;
    /** Calls `message_received` hooks. */
    received: {
      show(session: SessionId): Promise<void>;
      shown(message: Message): Promise<Message>;
    };
  };

export class Turns {
  readonly #options: TurnsOptions;
  readonly #running = new Map<SessionId, Running>();
  /** Turns of one session never overlap, even if the harness starts one by itself. */
  readonly #serial = new SerialByKey();
  readonly #drains: Drains<SessionId>;
  #resting = false;
  #abandoned = false;

  constructor(options: TurnsOptions) {
    const { log, clock, conversations } = options;
    this.#options = options;
    this.#drains = new Drains(
      async (session, signal) => {
        const next = () => this.next(session);
        const repetition = { clock, log, signal, what: "the start of a turn", details: { session } };
        while (!signal.aborted && (await whileAway(next, repetition))) {}
      },
      (session, error) => log.error("a session stopped draining", { session, error: errorText(error) }),
    );
    conversations.onSpontaneousTurn((session, events) => {
      this.spontaneous(session, events).catch((error: unknown) =>
        log.error("a turn the harness started could not be recorded", { session, error: errorText(error) }),
      );
    });
  }

  /** A hint that the session has work. Safe to lose. */
  wake(session: SessionId): void {
    if (!this.#resting) this.#drains.wake(session);
  }

  /** Starts no turn until `resume`; messages admitted meanwhile stay pending. */
  rest(): void {
    this.#resting = true;
  }

  /** Lets turns start. */
  resume(): void {
    this.#resting = false;
  }

  /** Starts no new turn and waits for the running ones. */
  drained(): Promise<void> {
    return this.#drains.stop();
  }

  /** Answers the pending messages with one turn. Returns false if there are none. */
  next(session: SessionId): Promise<boolean> {
    return this.#serial.run(session, () => this.#next(session));
  }

  /** Records a turn that the harness started by itself. */
  spontaneous(session: SessionId, events: AsyncIterable<DriverEvent>): Promise<void> {
    return this.#serial.run(session, async () => {
      const begun = await this.#options.transact((tx) => this.#insert(tx, session, [], []));
      await this.#perform(begun, ({ recorder, controller }) => recorder.consume(events, controller.signal));
    });
  }

  /** Adds a pending message to the running turn, if there is one and its harness supports it. */
  async steer(message: Message): Promise<SteerOutcome> {
    const running = this.#running.get(message.session);
    if (!running) return { joined: false, why: null };
    const { received, hookEvents } = this.#options;
    const shown = hookEvents.has("message_received") ? await received.shown(message) : message;
    for (const refusal of this.#options.extensions.steerRefusals) {
      const why = await refusal(shown);
      if (why !== null) return { joined: false, why };
    }
    if (shown.attachments.length > 0) await this.#options.fetchAttachments(shown.attachments);
    const answered = new AbortController();
    const later = this.#options.clock.sleep(steerWaitMs, answered.signal).then(
      (): SteerOutcome => ({
        joined: false,
        why: "it joins the running turn as soon as its harness checks for messages",
      }),
    );
    // The loser of the race below may still reject afterwards.
    later.catch(() => {});
    try {
      return await Promise.race([running.delivery.join(shown), later]);
    } finally {
      answered.abort("over");
    }
  }

  /** Interrupts the running turn and waits for its end. Returns false if there is none. */
  async interrupt(session: SessionId): Promise<boolean> {
    const running = this.#running.get(session);
    if (!running) return false;
    running.controller.abort();
    await running.done;
    return true;
  }

  /** The messages that the session is answering now: the cause of what it does next. */
  current(session: SessionId): readonly Message[] {
    return this.#running.get(session)?.delivery.messages ?? [];
  }

  /** The session's text in the running turn, including streaming text; empty if there is none. */
  saying(session: SessionId): string {
    return this.#running.get(session)?.recorder.textSoFar ?? "";
  }

  get count(): number {
    return this.#running.size;
  }

  /** The sessions with a running turn. */
  working(): Iterable<SessionId> {
    return this.#running.keys();
  }

  /** Waits until no turn is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map((running) => running.done));
  }

  /**
   * Stops the running turns without recording their end, like a crash: the next start recovers them and sends their
   * messages again or reports them.
   */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    for (const running of this.#running.values()) running.controller.abort();
    await this.idle();
  }

  async #next(session: SessionId): Promise<boolean> {
    if (this.#abandoned) return false;
    const { node } = this.#options;
    if (node !== null && (await this.#options.nodeOf(session)) !== node) return false;
    const begun = await this.#received(session);
    if (begun === null) return false;
    await this.#perform(begun, ({ delivery }) => delivery.answer());
    return true;
  }

  /** Starts a turn with messages that hooks have seen. A message admitted after that call waits. */
  async #received(session: SessionId): Promise<BegunTurn | null> {
    const { received, hookEvents, transact } = this.#options;
    for (;;) {
      if (hookEvents.has("message_received")) await received.show(session);
      if (this.#abandoned) return null;
      const begun = await transact((tx) => this.#begin(tx, session));
      if (begun !== "unseen") return begun;
    }
  }

  async #begin(tx: StoreTx, id: SessionId): Promise<BegunTurn | "unseen" | null> {
    const session = await tx.sessions.get(id);
    if (!session || session.closed_at !== null || (session.node ?? null) !== this.#options.node) return null;
    const waiting = await tx.messages.list(id, { status: "pending" });
    if (waiting.length === 0) return null;
    const isShown = this.#options.hookEvents.has("message_received");
    const unseen = new Set(isShown ? (await tx.messages.unseen(id)).map((one) => one.id) : []);
    const { batch: next, interrupted } = await nextBatch(tx, { session: id, conversation: session.resume }, waiting);
    const firstUnseen = next.findIndex((message) => unseen.has(message.id));
    const batch = firstUnseen === -1 ? next : next.slice(0, firstUnseen);
    if (batch.length === 0) return "unseen";
    const unanswered = await unansweredMessages(tx, id);
    const hasPast = (await tx.turns.list(id, 1)).length > 0;
    // In the new turn, they are the messages with which it starts.
    const handed = (interrupted?.handed ?? []).map(({ joined: _, ...one }) => one);
    const begun = await this.#insert(tx, id, batch, handed);
    return { ...begun, unanswered, hasPast, interrupted };
  }

  async #insert(
    tx: StoreTx,
    session: SessionId,
    messages: readonly Message[],
    handed: readonly HandOver[],
  ): Promise<BegunTurn> {
    const now = this.#options.clock.now();
    const turn = newId("trn", now);
    const ids = messages.map((message) => message.id);
    await tx.turns.insert({
      id: turn,
      session,
      started_at: now,
      ended_at: null,
      reason: null,
      error: null,
      text: "",
      usage: null,
      accepted: false,
      handed_over: handed,
    });
    await tx.messages.setStatus(ids, "dispatched", turn);
    await tx.events.append(
      { type: "turn.started", session, data: { turn, messages: ids, spontaneous: ids.length === 0 } },
      now,
    );
    const row = await tx.sessions.get(session);
    if (row?.state !== "working") {
      await tx.sessions.update(session, { state: "working", error: null });
      await tx.events.append({ type: "session.state", session, data: { state: "working", error: null } }, now);
    }
    return { session, turn, messages, unanswered: [], hasPast: false, interrupted: null };
  }

  async #perform(begun: BegunTurn, work: (turn: Omit<Running, "done">) => Promise<TurnEnded>): Promise<void> {
    const { session, turn } = begun;
    const controller = new AbortController();
    // A turn whose start was being recorded while the others were abandoned is abandoned too.
    if (this.#abandoned) controller.abort();
    const { transact, clock, publishDelta, redact, redactedStream, outgoing, hookEvents, price, overflow } =
      this.#options;
    const recorder = new TurnRecorder({
      session,
      turn,
      transact,
      clock,
      publishDelta,
      redact,
      redactedStream,
      outgoing,
      hookEvents,
      price,
      overflow,
    });
    const delivery = new Delivery(this.#options, begun, recorder, controller.signal);
    const running = { recorder, controller, delivery };
    const done = this.#work(begun, running, () => work(running));
    this.#running.set(session, { ...running, done });
    await done;
  }

  async #work(begun: BegunTurn, running: Omit<Running, "done">, work: () => Promise<TurnEnded>): Promise<void> {
    const { recorder, delivery, controller } = running;
    const { signal } = controller;
    try {
      // The turn must be in the map of running turns before the agent is called.
      await Promise.resolve();
      let end = await this.#begins(begun)
        .then(work)
        .catch((error: unknown) => this.#endOf(begun, error, signal));
      await delivery.close();
      if (this.#abandoned) return await recorder.keep();
      await this.#ends(begun);
      if (end.reason !== "completed") await recorder.recordUnfinished();
      const last = await recorder.takeHeld().catch((error: unknown) => {
        end = this.#endOf(begun, error, signal);
        return null;
      });
      const usage = end.usage === null ? recorder.usage : await recorder.priced(end.usage);
      const said = { text: recorder.text, usage };
      const told = await this.#options.transact(async (tx) => {
        await last?.(tx);
        return this.#finish(tx, { ...begun, messages: delivery.messages }, { ...end, ...said });
      });
      for (const sender of told) this.wake(sender);
    } catch (error) {
      this.#options.log.error("a turn could not be ended", { turn: begun.turn, error: errorText(error) });
    } finally {
      await recorder.close();
      this.#running.delete(begun.session);
    }
  }

  /** Ends a turn: its event, its row, its messages, the session's state and the notices. Returns the sessions to wake. */
  async #finish(
    tx: StoreTx,
    { session, turn, messages }: BegunTurn,
    { reason, error, usage, text }: TurnEnded & { text: string },
  ): Promise<readonly SessionId[]> {
    const at = this.#options.clock.now();
    const end = { reason, error, text, usage };
    const { seq } = await tx.events.append({ type: "turn.ended", session, data: { turn, ...end } }, at);
    await tx.turns.end(turn, { at, ...end, seq });
    const isLost = error?.code === "lost";
    const ids = messages.map(({ id }) => id);
    await tx.messages.setStatus(ids, isLost ? "lost" : "done", turn);
    if (isLost)
      for (const id of ids)
        await tx.events.append({ type: "message.lost", session, data: { message: id, reason: error.message } }, at);
    const row = await tx.sessions.get(session);
    if (!row) return [];
    const was = isLost ? "lost" : error?.code === "blocked" ? "blocked" : null;
    const why = error?.message ?? "no reason given";
    const told = was === null ? [] : await this.#options.tellUnanswered(tx, row, messages, { was, reason: why });
    if (row.closed_at !== null) return told;
    const failed = reason === "failed";
    if (!failed && (await tx.messages.countPending(session)) > 0) return told;
    const state = failed ? "error" : "ready";
    const problem = failed ? (error?.message ?? "the turn failed") : null;
    await tx.sessions.update(session, { state, error: problem });
    await tx.events.append({ type: "session.state", session, data: { state, error: problem } }, at);
    return told;
  }

  /** Throws if the turn cannot start, for example because its folder is missing. */
  async #begins({ session, turn }: BegunTurn): Promise<void> {
    try {
      for (const edges of this.#options.extensions.turnEdges) await edges.begins(session, turn);
    } catch (error) {
      throw asStartFailure(error);
    }
  }

  /** A turn that has ended does not fail because something beside it could not be recorded. */
  async #ends({ session, turn }: BegunTurn): Promise<void> {
    const { extensions, log } = this.#options;
    for (const edges of extensions.turnEdges)
      await edges
        .ends(session, turn)
        .catch((error: unknown) => log.error("the end of a turn was not noted", { turn, error: errorText(error) }));
  }

  #endOf(begun: BegunTurn, error: unknown, signal: AbortSignal): TurnEnded {
    if (signal.aborted) return ended("cancelled", null);
    if (error instanceof DriverError) return ended("failed", error.turnError);
    this.#options.log.error("a turn failed inside Aegis", {
      turn: begun.turn,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    return ended("failed", { code: "internal", message: errorText(error) });
  }
}
