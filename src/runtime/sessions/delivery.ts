/**
 * Delivers a turn's messages to its harness. The delivery is recorded before it starts, so that after a crash Aegis
 * knows which messages a harness may have.
 */
import { createHash } from "node:crypto";
import type { OnCrash } from "../../contract/agent.ts";
import type { HookEvent } from "../../contract/hook.ts";
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { Attachment, Message } from "../../contract/message.ts";
import { messageSeparator } from "../../contract/message-header.ts";
import type { Addition, Conversation, TurnEnded } from "../../drivers/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import { unlessAborted } from "../../lib/until-aborted.ts";
import { type Transact, whileAway } from "../../store/transact.ts";
import { renderParts } from "../inbox/render.ts";
import type { Conversations } from "./conversations.ts";
import { prepareTurn, type TurnContributor } from "./extensions.ts";
import {
  type InterruptedJoin,
  type InterruptedTurn,
  interruptionNotes,
  interruptionOfBatch,
  interruptionText,
  judgeInterruption,
  lostReasons,
  recordHandOver,
  type Verdict,
} from "./interrupted-turn.ts";
import { ended, type TurnRecorder } from "./recorder.ts";
import type { Steering } from "./steering.ts";

export type Begun = {
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
  /** Contributors to the agent's input, in order. */
  contributors: readonly TurnContributor[];
  /** The events that have hooks at the moment. */
  hookEvents: ReadonlySet<HookEvent>;
};

export class Delivery {
  readonly #options: DeliveryOptions;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Sends the messages and records the agent's answer. */
  async answer(begun: Begun, recorder: TurnRecorder, joining: Steering, signal: AbortSignal): Promise<TurnEnded> {
    const { conversations } = this.#options;
    const wasOpen = conversations.has(begun.session);
    const end = await this.#deliver(begun, begun.interrupted, recorder, joining, signal);
    const diedIdle = wasOpen && end.error?.code === "died" && !recorder.isAnswering;
    if (!diedIdle || signal.aborted) return end;
    await recorder.note("The harness had ended just before it was sent this. It was started again.");
    // The turn may also have ended directly before the failure.
    return this.#deliver(begun, await this.#interruptedTurnOf(begun), recorder, joining, signal);
  }

  /**
   * The harness's input for messages: text, images and an idempotency key. `before` are messages that it has but has
   * not answered.
   */
  addition(messages: readonly Message[], before: readonly Pick<Message, "sender">[] = []): Addition {
    const parts = renderParts(messages, before);
    const images = messages
      .flatMap((message) => message.attachments)
      .map((attachment) => ({ path: this.#options.attachmentPath(attachment), media_type: attachment.media_type }));
    return { text: parts.join(messageSeparator), parts, images, key: batchKey(messages.map(({ id }) => id)) };
  }

  async #deliver(
    begun: Begun,
    interrupted: InterruptedTurn | null,
    recorder: TurnRecorder,
    joining: Steering,
    signal: AbortSignal,
  ): Promise<TurnEnded> {
    const { contributors, hookEvents, transact } = this.#options;
    const { session, turn, messages } = begun;
    const verdict = interrupted === null ? "deliver" : await this.#judge(begun, interrupted, recorder, joining, signal);
    if (verdict === "aborted") return ended("cancelled", null);
    if (typeof verdict === "object") return ended("refused", { code: "lost", message: verdict.lost });
    // The text before the messages depends on what the agent remembers, which is known once its conversation is open.
    const before = begun.hasPast ? await this.#open(begun, false, signal) : null;
    if (before === "aborted") return ended("cancelled", null);
    const files = messages.flatMap((message) => message.attachments);
    if (files.length > 0) await this.#options.fetchAttachments(files);
    const addition = this.#worded(begun, interrupted, verdict);
    const unprepared = { session, turn, messages, text: addition.text };
    const prepared = await unlessAborted(prepareTurn(contributors, hookEvents, unprepared, signal), signal);
    if (prepared === "aborted") return ended("cancelled", null);
    if ("blocked" in prepared) return ended("refused", { code: "blocked", message: prepared.blocked });
    const prompt = { ...addition, ...prepared, turn };
    const conversation = before?.alive === true ? before : await this.#open(begun, false, signal);
    if (conversation === "aborted") return ended("cancelled", null);
    await transact((tx) => recordHandOver(tx, { ...prompt, session, turn }));
    joining.opened(conversation);
    return recorder.consume(conversation.send(prompt, signal), signal);
  }

  #open({ session, messages }: Begun, wantsRecord: boolean, signal: AbortSignal): Promise<Conversation | "aborted"> {
    const about = messages.map(({ body }) => body).join("\n");
    const { clock, log, conversations } = this.#options;
    const repetition = { clock, log, signal, what: "the opening of a conversation", details: { session } };
    return unlessAborted(
      whileAway(() => conversations.get(session, { wantsRecord, about }), repetition),
      signal,
    );
  }

  /** Opens the conversation to find out what the harness has, and records the decision about the messages. */
  async #judge(
    begun: Begun,
    interrupted: InterruptedTurn,
    recorder: TurnRecorder,
    joining: Steering,
    signal: AbortSignal,
  ): Promise<Verdict | { lost: string } | "aborted"> {
    const { transact, clock, onCrash } = this.#options;
    const { session, messages } = begun;
    const conversation = await this.#open(begun, true, signal);
    if (conversation === "aborted") return "aborted";
    const verdict = await unlessAborted(judgeInterruption(interrupted, conversation), signal);
    if (verdict === "aborted") return "aborted";
    if ((verdict === "again" || verdict === "repeat") && (await onCrash(session)) === "fail")
      return { lost: lostReasons[verdict] };
    if (verdict === "continue") {
      const held = await unlessAborted(heldOf(interrupted.joined, conversation), signal);
      if (held === "aborted") return "aborted";
      await joining.adopt(held);
    } else
      await transact(async (tx) => {
        for (const { id } of messages)
          await tx.events.append({ type: "message.redelivered", session, data: { message: id } }, clock.now());
      });
    const note = interruptionNotes[verdict];
    if (note !== null) await recorder.note(note);
    return verdict;
  }

  #worded({ messages, unanswered }: Begun, interrupted: InterruptedTurn | null, verdict: Verdict): Addition {
    if (verdict === "deliver") return this.addition(messages, unanswered);
    const words = interruptionText(verdict, this.#options.clock.now());
    if (verdict === "continue") {
      // What the agent does from here on does not repeat what it did in the interrupted turn.
      const key = batchKey([...messages.map(({ id }) => id), "continue", interrupted?.live.at(-1)?.turn ?? ""]);
      return { text: words, parts: [words], images: [], key };
    }
    const own = this.addition(messages, [...unanswered, { sender: { kind: "substrate" } }]);
    const parts = [words, ...own.parts];
    return { ...own, parts, text: parts.join(messageSeparator) };
  }

  /** The same for a turn that continues after its own harness died. */
  #interruptedTurnOf({ session, turn }: Begun): Promise<InterruptedTurn | null> {
    return this.#options.transact(async (tx) => {
      const conversation = (await tx.sessions.get(session))?.resume ?? null;
      const interrupted = await interruptionOfBatch(tx, { session, conversation }, turn);
      return interrupted && { ...interrupted, joined: [] };
    });
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
