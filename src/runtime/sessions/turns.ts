/**
 * One turn at a time per session: takes the waiting batch, has the agent answer it, writes how it ended. Whatever
 * happens on the way, a turn that was begun here gets exactly one end.
 */
import { createHash } from "node:crypto";
import type { LiveDelta } from "../../contract/event.ts";
import { newId, type SessionId, type TurnId } from "../../contract/ids.ts";
import type { Attachment, Message } from "../../contract/message.ts";
import { type Addition, DriverError, type DriverEvent, type TurnEnded } from "../../drivers/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { Persist } from "../../store/persist.ts";
import type { StoreTx } from "../../store/store.ts";
import type { Steered } from "../inbox/inbox.ts";
import { renderBatch } from "../inbox/render.ts";
import type { Conversations } from "./conversations.ts";
import { finishTurn, type TellBlocked } from "./finish.ts";
import { Joining } from "./joining.ts";
import { prepareTurn, type TurnContributor } from "./prepare.ts";
import type { FindPrice } from "./pricing.ts";
import { ended, type OutgoingText, TurnRecorder } from "./recorder.ts";
import { autoTitle } from "./titles.ts";

type Begun = { session: SessionId; turn: TurnId; messages: readonly Message[] };
type Running = Begun & { controller: AbortController; joining: Joining; done: Promise<void> };
type Work = (recorder: TurnRecorder, joining: Joining, signal: AbortSignal) => Promise<TurnEnded>;

/** How long a sender waits to hear that a message has joined; a harness in the middle of a step may take longer. */
const steerWaitMs = 5_000;

export type TurnsOptions = {
  persist: Persist;
  clock: Clock;
  log: Logger;
  conversations: Conversations;
  publishDelta: (delta: LiveDelta) => void;
  /** Where the bytes of an attachment are. */
  attachmentPath: (attachment: Attachment) => string;
  /** Add to what an agent is sent, in this order. */
  contributors: readonly TurnContributor[];
  outgoing: OutgoingText;
  price: FindPrice;
  tellBlocked: TellBlocked;
  wake: (session: SessionId) => void;
};

export class Turns {
  readonly #options: TurnsOptions;
  readonly #running = new Map<SessionId, Running>();
  readonly #lanes = new Map<SessionId, Promise<void>>();
  #abandoned = false;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Answers the waiting messages with one turn. False when none waits. */
  next(session: SessionId): Promise<boolean> {
    return this.#oneByOne(session, () => this.#next(session));
  }

  /** Records a turn that the harness started by itself. */
  spontaneous(session: SessionId, events: AsyncIterable<DriverEvent>): Promise<void> {
    return this.#oneByOne(session, async () => {
      const begun = await this.#options.persist((tx) => this.#insert(tx, session, []));
      await this.#perform(begun, (recorder, _joining, signal) => recorder.consume(events, signal));
    });
  }

  /** Adds a waiting message to the turn under way, where there is one and its harness can. */
  async steer(message: Message): Promise<Steered> {
    const running = this.#running.get(message.session);
    if (!running) return { joined: false, why: null };
    const answered = new AbortController();
    const later = this.#options.clock.sleep(steerWaitMs, answered.signal).then(
      (): Steered => ({
        joined: false,
        why: "it joins the turn under way as soon as its harness looks for messages",
      }),
    );
    // The loser of the race below may still reject after it is over.
    later.catch(() => {});
    try {
      return await Promise.race([running.joining.add(message), later]);
    } finally {
      answered.abort("over");
    }
  }

  /** Cuts the turn under way and waits for its end. False when there is none. */
  async interrupt(session: SessionId): Promise<boolean> {
    const running = this.#running.get(session);
    if (!running) return false;
    running.controller.abort();
    await running.done;
    return true;
  }

  /** The messages that the session is answering now: what it does next is caused by them. */
  current(session: SessionId): readonly Message[] {
    const running = this.#running.get(session);
    return running ? [...running.messages, ...running.joining.messages] : [];
  }

  get count(): number {
    return this.#running.size;
  }

  /** Waits until no turn is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map((running) => running.done));
  }

  /**
   * Stops the turns under way without writing their end, as a crash would: the next start finds them and sends their
   * messages again or reports them.
   */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    for (const running of this.#running.values()) running.controller.abort();
    await this.idle();
  }

  /** Turns of one session never overlap, also when the harness starts one by itself. */
  #oneByOne<T>(session: SessionId, work: () => Promise<T>): Promise<T> {
    const result = (this.#lanes.get(session) ?? Promise.resolve()).then(work);
    const settled = result.then(
      () => {},
      () => {},
    );
    this.#lanes.set(session, settled);
    settled.then(() => {
      if (this.#lanes.get(session) === settled) this.#lanes.delete(session);
    });
    return result;
  }

  async #next(session: SessionId): Promise<boolean> {
    if (this.#abandoned) return false;
    const begun = await this.#options.persist((tx) => this.#begin(tx, session));
    if (!begun) return false;
    await this.#perform(begun, (recorder, joining, signal) => this.#answer(begun, recorder, joining, signal));
    return true;
  }

  async #answer(begun: Begun, recorder: TurnRecorder, joining: Joining, signal: AbortSignal): Promise<TurnEnded> {
    const { session, turn, messages } = begun;
    const { contributors, conversations } = this.#options;
    const unprepared = { session, turn, messages, text: renderBatch(messages) };
    const prepared = await unlessAborted(prepareTurn(contributors, unprepared, signal), signal);
    if (prepared === "aborted") return ended("cancelled", null);
    if ("blocked" in prepared) return ended("refused", { code: "blocked", message: prepared.blocked });
    const prompt = { ...prepared, ...this.#addition(messages), text: prepared.text, turn };
    const deliver = async () => {
      const conversation = await unlessAborted(conversations.get(session), signal);
      if (conversation === "aborted") return ended("cancelled", null);
      joining.opened(conversation);
      return recorder.consume(conversation.send(prompt, signal), signal);
    };
    const wasOpen = conversations.has(session);
    const end = await deliver();
    const diedIdle = wasOpen && end.error?.code === "died" && !recorder.isAnswering;
    if (!diedIdle || signal.aborted) return end;
    await recorder.note("The harness had ended just before it was sent this. It was started again.");
    return deliver();
  }

  /** What a harness is given of messages: their text, their pictures, and a key for what they cause. */
  #addition(messages: readonly Message[]): Addition {
    const images = messages
      .flatMap((message) => message.attachments)
      .map((attachment) => ({ path: this.#options.attachmentPath(attachment), media_type: attachment.media_type }));
    return { text: renderBatch(messages), images, key: batchKey(messages) };
  }

  async #begin(tx: StoreTx, id: SessionId): Promise<Begun | null> {
    const session = await tx.sessions.get(id);
    if (!session || session.closed_at !== null) return null;
    const batch = firstBatch(await tx.messages.list(id, { status: "pending" }));
    if (batch.length === 0) return null;
    if (session.title_source === null) await this.#titleFrom(tx, id, batch);
    return this.#insert(tx, id, batch);
  }

  async #insert(tx: StoreTx, session: SessionId, messages: readonly Message[]): Promise<Begun> {
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
    return { session, turn, messages };
  }

  async #titleFrom(tx: StoreTx, session: SessionId, batch: readonly Message[]): Promise<void> {
    const first = batch.find((message) => message.sender.kind === "human");
    const title = first ? autoTitle(first.body) : "";
    if (title === "") return;
    await tx.sessions.update(session, { title, title_source: "auto" });
    await tx.events.append(
      { type: "session.titled", session, data: { title, source: "auto" } },
      this.#options.clock.now(),
    );
  }

  async #perform(begun: Begun, work: Work): Promise<void> {
    const controller = new AbortController();
    // A turn whose start was being written while the others were abandoned belongs to them.
    if (this.#abandoned) controller.abort();
    const recorder = new TurnRecorder({ ...this.#options, session: begun.session, turn: begun.turn });
    const addition = (message: Message) => this.#addition([message]);
    const joining = new Joining({ ...this.#options, turn: begun.turn, addition });
    const answering = () => work(recorder, joining, controller.signal);
    const done = this.#work(begun, recorder, joining, answering, controller.signal);
    this.#running.set(begun.session, { ...begun, controller, joining, done });
    await done;
  }

  async #work(
    begun: Begun,
    recorder: TurnRecorder,
    joining: Joining,
    work: () => Promise<TurnEnded>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      // The entry in the map of running turns must exist before the agent is asked anything.
      await Promise.resolve();
      const end = await work().catch((error: unknown) => this.#endOf(begun, error, signal));
      await joining.close();
      if (this.#abandoned) return;
      const messages = [...begun.messages, ...joining.messages];
      const usage = end.usage === null ? recorder.usage : await recorder.priced(end.usage);
      const said = { text: recorder.text, usage };
      const told = await this.#options.persist((tx) =>
        finishTurn(tx, { ...begun, messages }, { ...end, ...said }, this.#options),
      );
      for (const sender of told) this.#options.wake(sender);
    } catch (error) {
      this.#options.log.error("a turn could not be ended", { turn: begun.turn, error: errorText(error) });
    } finally {
      this.#running.delete(begun.session);
    }
  }

  #endOf(begun: Begun, error: unknown, signal: AbortSignal): TurnEnded {
    if (signal.aborted) return ended("cancelled", null);
    if (error instanceof DriverError) return ended("failed", error.turnError);
    this.#options.log.error("a turn failed inside Aegis", {
      turn: begun.turn,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    return ended("failed", { code: "internal", message: errorText(error) });
  }
}

/** Messages that a crash cut off are sent again as the batch they were, alone: effects are keyed by that batch. */
function firstBatch(pending: readonly Message[]): readonly Message[] {
  const cut = pending[0]?.turn ?? null;
  return pending.filter((message) => message.turn === cut);
}

/** The same for the same messages, whatever turn carries them. */
function batchKey(messages: readonly Message[]): string {
  const hash = createHash("sha256");
  for (const message of messages) hash.update(message.id).update("\n");
  return hash.digest("hex").slice(0, 32);
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | "aborted"> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve("aborted");
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
