/**
 * Delivers one turn's messages to its harness: those with which it starts, and those that join it. Each delivery is
 * recorded before it starts, so that after a crash Aegis knows which messages a harness may have.
 */
import { createHash } from "node:crypto";
import type { OnCrash } from "@aegis/contract/agent.ts";
import type { HookEvent } from "@aegis/contract/hook.ts";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Attachment, Message } from "@aegis/contract/message.ts";
import { messageSeparator } from "@aegis/contract/message-header.ts";
import type { Addition, Conversation, TurnEnded } from "@aegis/drivers/driver.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { unlessAborted } from "@aegis/lib/until-aborted.ts";
import type { SteerOutcome } from "@aegis/nodes/session-processes.ts";
import type { StoreTx } from "@aegis/store/store.ts";
import { type Transact, whileAway } from "@aegis/store/transact.ts";
import type { Conversations } from "./conversations.ts";
import { prepareTurn, type SessionExtensions } from "./extensions.ts";
import { renderParts } from "./inbox/render.ts";
import {
  addHandOvers,
  type InterruptedJoin,
  type InterruptedTurn,
  interruptionNotes,
  interruptionOfBatch,
  interruptionText,
  judgeInterruption,
  lostReasons,
  type ResumeDecision,
  recordHandOver,
  withdrawHandOver,
} from "./interrupted-turn.ts";
import { ended, type TurnRecorder } from "./recorder.ts";

export type BegunTurn = {
  session: SessionId;
  turn: TurnId;
  messages: readonly Message[];
  /** Messages of directly preceding turns without an answer: for the agent, these and the new ones are one text. */
  unanswered: readonly Message[];
  /** The session has earlier turns, which its agent may remember. */
  hasPast: boolean;
  /** What an earlier, interrupted turn did with the same messages. */
  interrupted: InterruptedTurn | null;
};

export type DeliveryOptions = {
  transact: Transact;
  clock: Clock;
  log: Logger;
  conversations: Conversations;
  /** The path of an attachment's content. */
  attachmentPath: (attachment: Attachment) => string;
  /** Puts the content of attachments on this machine. */
  fetchAttachments: (attachments: readonly Attachment[]) => Promise<void>;
  /** The agent's `on_crash` setting; `retry` for an agent that no longer exists. */
  onCrash: (session: SessionId) => Promise<OnCrash>;
  extensions: SessionExtensions;
  /** The events that have hooks at the moment. */
  hookEvents: ReadonlySet<HookEvent>;
};

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #begun: BegunTurn;
  readonly #recorder: TurnRecorder;
  /** Aborts when the turn is interrupted. */
  readonly #signal: AbortSignal;
  /** Messages can join once it is open. */
  #conversation: Conversation | null = null;
  readonly #joining = new Set<Promise<unknown>>();
  readonly #joined: Message[] = [];
  /** Includes messages whose delivery is still running: the harness may read them first. */
  readonly #offered: Message[] = [];
  #isOver = false;

  constructor(options: DeliveryOptions, begun: BegunTurn, recorder: TurnRecorder, signal: AbortSignal) {
    this.#options = options;
    this.#begun = begun;
    this.#recorder = recorder;
    this.#signal = signal;
  }

  /** The messages of the turn, including those that joined it. */
  get messages(): readonly Message[] {
    return [...this.#begun.messages, ...this.#joined];
  }

  /** Sends the messages and records the agent's answer. */
  async answer(): Promise<TurnEnded> {
    const { session, interrupted } = this.#begun;
    const wasOpen = this.#options.conversations.has(session);
    const end = await this.#deliver(interrupted);
    const diedIdle = wasOpen && end.error?.code === "died" && !this.#recorder.isAnswering;
    if (!diedIdle || this.#signal.aborted) return end;
    await this.#recorder.note("The harness had exited just before this was sent. It was restarted.");
    // The turn may also have ended directly before the failure.
    return this.#deliver(await this.#ownInterruption());
  }

  /** Adds a message to the turn. It is recorded before its delivery, and settled before the turn can end. */
  join(message: Message): Promise<SteerOutcome> {
    const joining = this.#join(message);
    this.#joining.add(joining);
    const settled = () => void this.#joining.delete(joining);
    joining.then(settled, settled);
    return joining;
  }

  /** Accepts no more messages. Resolves when the accepted ones are recorded. */
  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#joining);
  }

  async #deliver(interrupted: InterruptedTurn | null): Promise<TurnEnded> {
    const { extensions, hookEvents, transact } = this.#options;
    const { session, turn, messages, hasPast } = this.#begun;
    const signal = this.#signal;
    const verdict = interrupted === null ? "deliver" : await this.#judge(interrupted);
    if (verdict === "aborted") return ended("cancelled", null);
    if (typeof verdict === "object") return ended("refused", { code: "lost", message: verdict.lost });
    // The text before the messages depends on what the agent remembers, which is known once its conversation is open.
    const before = hasPast ? await this.#open(false) : null;
    if (before === "aborted") return ended("cancelled", null);
    const files = messages.flatMap((message) => message.attachments);
    if (files.length > 0) await this.#options.fetchAttachments(files);
    const addition = this.#worded(interrupted, verdict);
    const unprepared = { session, turn, messages, text: addition.text };
    const preparing = prepareTurn(extensions.contributors, hookEvents, unprepared, signal);
    const prepared = await unlessAborted(preparing, signal);
    if (prepared === "aborted") return ended("cancelled", null);
    if ("blocked" in prepared) return ended("refused", { code: "blocked", message: prepared.blocked });
    const prompt = { ...addition, ...prepared, turn };
    const conversation = before?.alive === true ? before : await this.#open(false);
    if (conversation === "aborted") return ended("cancelled", null);
    await transact((tx) => recordHandOver(tx, { ...prompt, session, turn }));
    this.#conversation = conversation;
    return this.#recorder.consume(conversation.send(prompt, signal), signal);
  }

  #open(wantsRecord: boolean): Promise<Conversation | "aborted"> {
    const { session, messages } = this.#begun;
    const signal = this.#signal;
    const about = messages.map(({ body }) => body).join("\n");
    const { clock, log, conversations } = this.#options;
    const repetition = { clock, log, signal, what: "the opening of a conversation", details: { session } };
    return unlessAborted(
      whileAway(() => conversations.get(session, { wantsRecord, about }), repetition),
      signal,
    );
  }

  /** Opens the conversation to find out what the harness has, and records the decision about the messages. */
  async #judge(interrupted: InterruptedTurn): Promise<ResumeDecision | { lost: string } | "aborted"> {
    const { transact, clock, onCrash } = this.#options;
    const { session, messages } = this.#begun;
    const conversation = await this.#open(true);
    if (conversation === "aborted") return "aborted";
    const verdict = await unlessAborted(judgeInterruption(interrupted, conversation), this.#signal);
    if (verdict === "aborted") return "aborted";
    if ((verdict === "again" || verdict === "repeat") && (await onCrash(session)) === "fail")
      return { lost: lostReasons[verdict] };
    if (verdict === "continue") {
      const held = await unlessAborted(heldOf(interrupted.joined, conversation), this.#signal);
      if (held === "aborted") return "aborted";
      await this.#adopt(held);
    } else
      await transact(async (tx) => {
        for (const { id } of messages)
          await tx.events.append({ type: "message.redelivered", session, data: { message: id } }, clock.now());
      });
    const note = interruptionNotes[verdict];
    if (note !== null) await this.#recorder.note(note);
    return verdict;
  }

  #worded(interrupted: InterruptedTurn | null, verdict: ResumeDecision): Addition {
    const { messages, unanswered } = this.#begun;
    if (verdict === "deliver") return this.#addition(messages, unanswered);
    const words = interruptionText(verdict, this.#options.clock.now());
    if (verdict === "continue") {
      // What the agent does from here on does not repeat what it did in the interrupted turn.
      const key = batchKey([...messages.map(({ id }) => id), "continue", interrupted?.live.at(-1)?.turn ?? ""]);
      return { text: words, parts: [words], images: [], key };
    }
    const own = this.#addition(messages, [...unanswered, { sender: { kind: "substrate" } }]);
    const parts = [words, ...own.parts];
    return { ...own, parts, text: parts.join(messageSeparator) };
  }

  /**
   * The harness's input for messages: text, images and an idempotency key. `before` are messages that it has but has
   * not answered.
   */
  #addition(messages: readonly Message[], before: readonly Pick<Message, "sender">[]): Addition {
    const parts = renderParts(messages, before);
    const images = messages
      .flatMap((message) => message.attachments)
      .map((attachment) => ({ path: this.#options.attachmentPath(attachment), media_type: attachment.media_type }));
    return { text: parts.join(messageSeparator), parts, images, key: batchKey(messages.map(({ id }) => id)) };
  }

  /** What is known about this turn's own delivery, after its harness died. */
  #ownInterruption(): Promise<InterruptedTurn | null> {
    const { session, turn } = this.#begun;
    return this.#options.transact(async (tx) => {
      const conversation = (await tx.sessions.get(session))?.resume ?? null;
      const interrupted = await interruptionOfBatch(tx, { session, conversation }, turn);
      return interrupted && { ...interrupted, joined: [] };
    });
  }

  async #join(message: Message): Promise<SteerOutcome> {
    if (this.#isOver || this.#conversation === null) return { joined: false, why: null };
    if (this.#conversation.steer === undefined)
      return { joined: false, why: "its harness accepts no message in the middle of a turn" };
    const { session, turn, messages, unanswered } = this.#begun;
    const { transact } = this.#options;
    const addition = this.#addition([message], [...unanswered, ...messages, ...this.#offered]);
    this.#offered.push(message);
    await transact((tx) => recordHandOver(tx, { ...addition, session, turn, joined: message.id }));
    const taken = await this.#conversation.steer(addition);
    if (!taken) {
      await transact((tx) => withdrawHandOver(tx, turn, message.id));
      return { joined: false, why: "its harness did not accept it into the running turn" };
    }
    await transact((tx) => this.#recordJoined(tx, [message]));
    this.#joined.push(message);
    return { joined: true };
  }

  /** Adopts messages that had joined the interrupted turn which this one continues: its harness has them. */
  async #adopt(joined: readonly InterruptedJoin[]): Promise<void> {
    if (joined.length === 0) return;
    const messages = joined.map(({ message }) => message);
    const handed = joined.flatMap(({ interrupted }) => interrupted.handed);
    await this.#options.transact(async (tx) => {
      await addHandOvers(tx, this.#begun.turn, handed);
      await this.#recordJoined(tx, messages);
    });
    this.#joined.push(...messages);
  }

  async #recordJoined(tx: StoreTx, messages: readonly Message[]): Promise<void> {
    const { turn } = this.#begun;
    for (const { id, session } of messages) {
      await tx.messages.setStatus([id], "dispatched", turn);
      const event = { type: "message.steered" as const, session, data: { message: id, turn } };
      await tx.events.append(event, this.#options.clock.now());
    }
  }
}

/** The joined messages that the agent has. The others get turns of their own. */
async function heldOf(joined: readonly InterruptedJoin[], conversation: Conversation): Promise<InterruptedJoin[]> {
  const held: InterruptedJoin[] = [];
  for (const one of joined) if ((await judgeInterruption(one.interrupted, conversation)) === "continue") held.push(one);
  return held;
}

/** Deterministic by messages, regardless of the turn. */
function batchKey(ids: readonly string[]): string {
  const hash = createHash("sha256");
  for (const id of ids) hash.update(id).update("\n");
  return hash.digest("hex").slice(0, 32);
}
