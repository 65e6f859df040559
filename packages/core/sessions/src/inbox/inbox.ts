/**
 * The single entry point for messages. Every request for work, from any sender, is a message that is durable before
 * anything else happens: the inbox admits it, then steers, interrupts or wakes its session. Admission is idempotent by
 * message id.
 */
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { type MessageId, newId, type SessionId } from "@aegis/contract/ids.ts";
import {
  type Attachment,
  defaultMaxHops,
  defaultPerMinute,
  type Message,
  type MessageStatus,
  messageMaxBytes,
  type Receipt,
  type Sender,
} from "@aegis/contract/message.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import { textDigest } from "@aegis/lib/text-digest.ts";
import { titleFrom } from "@aegis/lib/title.ts";
import { nodeOf } from "@aegis/nodes/node-of.ts";
import type { SteerOutcome } from "@aegis/nodes/session-processes.ts";
import type { SessionRow, Store, StoreTx } from "@aegis/store/store.ts";
import type { HintedSessions } from "../hints.ts";
import { retitle } from "../titles.ts";
import { type SkillRouting, withReason } from "./routing.ts";
import { SenderLimits } from "./sender-limits.ts";

export type MessageQuery = {
  status?: MessageStatus | undefined;
  before?: MessageId | undefined;
  from?: "oldest" | "newest";
  limit: number;
};

export type Admission = {
  /** Chosen by the sender as an idempotency key. */
  id?: MessageId | undefined;
  session: SessionId;
  sender: Sender;
  body: string;
  /** Images that are already stored. */
  attachments?: readonly Attachment[];
  /** Interrupt the current turn and deliver immediately. */
  interrupt?: boolean;
  /** Join the current turn if the harness supports it. */
  steer?: boolean;
  /** The message whose turn caused this one. */
  cause?: Pick<Message, "chain" | "hops"> | undefined;
};

export type AdmittedMessage = { message: Message; duplicate: boolean; session: SessionRow; position: number };

export type InboxOptions = {
  store: Store;
  clock: Clock;
  /** Removes known secrets from the text before a title is cut out of it. */
  redact: Redact;
  maxHops?: () => number;
  /** The message rate limit of an agent. */
  perMinute?: () => number;
  /** Delivers the messages of a session. */
  hints: HintedSessions;
  /**
   * Routes a person's messages by the skills that they require. Without it, messages stay in the session they were sent
   * to.
   */
  routing?: SkillRouting;
};

export class Inbox {
  readonly #options: InboxOptions;
  readonly #limits: SenderLimits;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#limits = new SenderLimits(options.clock, options.perMinute ?? (() => defaultPerMinute));
  }

  async admit(given: Admission): Promise<Receipt> {
    const { store, hints, routing } = this.#options;
    const routed = (await routing?.of(given)) ?? { session: given.session };
    const admitted = await store.transact(async (tx) => {
      if (routing === undefined || "session" in routed) return this.admitIn(tx, { ...given, ...routed });
      const { from, route } = routed;
      const elsewhere = await this.admitIn(tx, { ...given, session: await routing.target(tx, from, route) });
      await routing.record(tx, from, route, elsewhere.message.id, elsewhere.session);
      return elsewhere;
    });
    const session = admitted.session.id;
    const isNew = !admitted.duplicate;
    const steered = given.steer === true && isNew ? await this.#steer(admitted.message) : null;
    const cut = given.interrupt === true && isNew && (await this.#interrupt(session));
    hints.wake(session);
    const receipt =
      steered === null
        ? await this.#withAway(messageReceipt(admitted, cut), admitted.session)
        : steeredReceipt(admitted, steered);
    return "route" in routed ? withReason(receipt, routed.route) : receipt;
  }

  /** Throws if no inbox would accept the message. */
  checkNew(admission: Pick<Admission, "body" | "cause">): void {
    checkBody(admission.body);
    this.#hopsOf(admission);
  }

  /** Admits inside the caller's transaction. The caller wakes the session after the commit. */
  async admitIn(tx: StoreTx, admission: Admission): Promise<AdmittedMessage> {
    checkBody(admission.body);
    const now = this.#options.clock.now();
    // Asked together: on a database server each answer that is awaited costs a round trip under the project's lock.
    const [session, before, pending] = await Promise.all([
      tx.sessions.get(admission.session),
      admission.id === undefined ? null : tx.messages.get(admission.id),
      tx.messages.countPending(admission.session),
    ]);
    if (!session) throw new AegisError("not_found", `no session ${admission.session}`);
    if (before) {
      await checkSame(tx, before, admission);
      return this.#duplicate(tx, before, session);
    }
    if (session.closed_at !== null) {
      throw new AegisError("closed", `session "${session.handle}" is closed`, { hint: "start a new one" });
    }
    const waiting = admission.sender.kind === "agent" ? await this.#sameWaiting(tx, admission) : null;
    if (waiting) return this.#duplicate(tx, waiting, session);
    if (admission.sender.kind === "agent") this.#limits.count(admission.sender);
    const hops = this.#hopsOf(admission);
    const id = admission.id ?? newId("msg", now);
    const message: Message = {
      id,
      session: session.id,
      sender: admission.sender,
      body: admission.body,
      sent: null,
      attachments: [...(admission.attachments ?? [])],
      status: "pending",
      chain: admission.cause?.chain ?? id,
      hops,
      admitted_at: now,
      turn: null,
    };
    await tx.messages.insert(message);
    await tx.events.append({ type: "message.admitted", session: session.id, data: { message } }, now);
    if (session.title_source === null) await this.#title(tx, session, message);
    const busy = session.state === "working" || pending > 0;
    return { message, duplicate: false, session, position: busy ? pending + 1 : 0 };
  }

  /** The first request names the session. */
  async #title(tx: StoreTx, session: SessionRow, { sender, body, admitted_at: now }: Message): Promise<void> {
    const title = sender.kind === "substrate" ? "" : titleFrom(this.#options.redact(body));
    if (title !== "") await retitle(tx, { session, title, source: "auto", now });
  }

  /** Says that the session's node is lost: the sender must not expect an answer soon. */
  async #withAway(receipt: Receipt, { node }: SessionRow): Promise<Receipt> {
    const { store } = this.#options;
    if (node === undefined || node === null || node === nodeOf(store)) return receipt;
    const row = await store.read.nodes.get(node);
    if (row?.alive === true && row.lease_ms >= 0) return receipt;
    return { ...receipt, text: `${receipt.text}: node ${node} is away, and the message waits until it is back` };
  }

  /** The message is stored, so it is answered later if the session's node cannot be reached now. */
  async #steer(message: Message): Promise<SteerOutcome> {
    try {
      return await this.#options.hints.steer(message);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      return { joined: false, why: errorText(error) };
    }
  }

  async #interrupt(session: SessionId): Promise<boolean> {
    try {
      return await this.#options.hints.interrupt(session);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      return false;
    }
  }

  /** Throws `too_many` for a chain that is too long. */
  #hopsOf({ cause }: Pick<Admission, "cause">): number {
    if (cause === undefined) return 0;
    const hops = cause.hops + 1;
    const limit = this.#options.maxHops?.() ?? defaultMaxHops;
    if (hops <= limit) return hops;
    const text = `refused: this message would be number ${limit + 1} in a chain of agents answering each other`;
    throw new AegisError("too_many", text, {
      hint: `raise messages.max_hops (now ${limit}) if the chain is meant to be that long`,
    });
  }

  async #duplicate(tx: StoreTx, message: Message, session: SessionRow): Promise<AdmittedMessage> {
    const pending = await tx.messages.list(session.id, { status: "pending" });
    const place = pending.findIndex((one) => one.id === message.id);
    const queued = place > 0 || (place === 0 && session.state === "working");
    return { message, duplicate: true, session, position: queued ? place + 1 : 0 };
  }

  /** An agent's identical message that is still pending counts as the same message. */
  async #sameWaiting(tx: StoreTx, { session, sender, body }: Admission): Promise<Message | null> {
    const pending = await tx.messages.list(session, { status: "pending" });
    const same = (message: Message) => (message.sent ?? message.body) === body && sameSender(message.sender, sender);
    return pending.find(same) ?? null;
  }

  async cancel(id: MessageId): Promise<Message> {
    return this.#options.store.transact(async (tx) => {
      const message = await this.cancelIn(tx, id);
      if (message === null) throw unknownMessage(id);
      if (message.status === "cancelled") return message;
      throw new AegisError("conflict", `message ${id} can no longer be taken back: it is ${message.status}`, {
        hint: message.status === "dispatched" ? "interrupt the session instead" : "nothing is left to do",
      });
    });
  }

  /** Takes back a pending message inside the caller's transaction. Returns the message, or null if there is none. */
  async cancelIn(tx: StoreTx, id: MessageId): Promise<Message | null> {
    const message = await tx.messages.get(id);
    if (message?.status !== "pending") return message;
    await tx.messages.setStatus([id], "cancelled", null);
    await tx.events.append(
      { type: "message.cancelled", session: message.session, data: { message: id } },
      this.#options.clock.now(),
    );
    return { ...message, status: "cancelled" };
  }

  async get(id: MessageId): Promise<Message> {
    const message = await this.#options.store.read.messages.get(id);
    if (!message) throw unknownMessage(id);
    return message;
  }

  /** Throws `not_found` if `before` is not a message of the session. */
  async list(session: SessionId, { status, before, limit, from = "oldest" }: MessageQuery): Promise<Message[]> {
    if (before !== undefined && (await this.get(before)).session !== session) throw unknownMessage(before);
    return this.#options.store.read.messages.list(session, {
      limit,
      from,
      ...(status === undefined ? {} : { status }),
      ...(before === undefined ? {} : { before }),
    });
  }
}

export function messageReceipt(admitted: AdmittedMessage, cut: boolean): Receipt {
  const { message, session, position, duplicate } = admitted;
  const outcome = cut ? "interrupted" : position > 0 ? "queued" : "landed";
  const text = {
    interrupted: `interrupted & landed at ${session.handle}`,
    queued: `queued for ${session.handle} (position ${position})`,
    landed: `landed at ${session.handle}`,
  }[outcome];
  return {
    message: message.id,
    session: session.id,
    handle: session.handle,
    outcome,
    position: cut ? 0 : position,
    duplicate,
    text,
  };
}

function isUnreachable(error: unknown): boolean {
  return isAegisError(error) && (error.code === "timeout" || error.code === "unavailable");
}

function steeredReceipt(admitted: AdmittedMessage, steered: SteerOutcome): Receipt {
  const plain = messageReceipt(admitted, false);
  if (steered.joined)
    return { ...plain, outcome: "steered", position: 0, text: `joined the turn of ${admitted.session.handle}` };
  return steered.why === null ? plain : { ...plain, text: `${plain.text}: ${steered.why}` };
}

/** Plugins may have changed the text, or Aegis redacted it, so the digest identifies what was sent. */
async function checkSame(tx: StoreTx, before: Message, { session, body }: Admission): Promise<void> {
  const isSame = (before.sent ?? before.body) === body || (await tx.messages.sentAs(before.id)) === textDigest(body);
  if (before.session === session && isSame) return;
  throw new AegisError("conflict", `message id ${before.id} was used before for another message`, {
    hint: "choose a fresh id for each message",
  });
}

function sameSender(a: Sender, b: Sender): boolean {
  return a.kind === "agent" && b.kind === "agent" && a.session === b.session;
}

/** Throws if the body is invalid for every inbox. */
export function checkBody(body: string): void {
  if (body.trim() === "") throw new AegisError("invalid", "the message is empty");
  if (body.includes("\0")) throw new AegisError("invalid", "the message contains NUL bytes");
  const bytes = Buffer.byteLength(body);
  if (bytes > messageMaxBytes) {
    throw new AegisError("too_large", `the message is ${bytes} bytes long; at most ${messageMaxBytes} are accepted`, {
      hint: "write it to a file and send the path",
    });
  }
}

function unknownMessage(id: MessageId): AegisError {
  return new AegisError("not_found", `no message ${id}`);
}
