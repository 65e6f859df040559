/**
 * The one door for work: every request is a message that is durable before anything happens. Admitting the same id
 * twice adds nothing; waking the session afterwards is only a hint.
 */
import { createHash } from "node:crypto";
import { AegisError } from "../../contract/errors.ts";
import { type MessageId, newId, type SessionId } from "../../contract/ids.ts";
import {
  type Attachment,
  defaultMaxHops,
  defaultPerMinute,
  type Message,
  type MessageStatus,
  messageMaxBytes,
  type Receipt,
  type Sender,
} from "../../contract/message.ts";
import type { Clock } from "../../lib/clock.ts";
import type { SessionRow, Store, StoreTx } from "../../store/store.ts";
import { SenderLimits } from "./sender-limits.ts";

export type Admission = {
  /** Chosen by the sender, so that a repeated request adds nothing. */
  id?: MessageId | undefined;
  session: SessionId;
  sender: Sender;
  body: string;
  /** Pictures that are kept already. */
  attachments?: readonly Attachment[];
  /** Cut the turn under way and deliver at once. */
  interrupt?: boolean;
  /** Join the turn under way where the harness can. */
  steer?: boolean;
  /** The message whose turn caused this one. */
  cause?: Pick<Message, "chain" | "hops"> | undefined;
};

/** Whether a message joined the turn under way, and why not when there was one that it could have joined. */
export type Steered = { joined: true } | { joined: false; why: string | null };

export type Admitted = { message: Message; duplicate: boolean; session: SessionRow; position: number };

export type InboxOptions = {
  store: Store;
  clock: Clock;
  maxHops?: () => number;
  /** How many messages an agent may send in a minute. */
  perMinute?: () => number;
  /** A hint that the session has work. */
  wake: (session: SessionId) => void;
  /** Cuts the turn under way. False when there is none. */
  interrupt: (session: SessionId) => Promise<boolean>;
  /**
   * What is written down as a message's body: plugins may make something else of it. Null while they have not seen it:
   * the transaction is then taken back when its unit ends, and run again.
   */
  received: (tx: StoreTx, session: SessionRow, sender: Sender, body: string) => string | null;
  /** Adds a waiting message to the turn under way. */
  steer: (message: Message) => Promise<Steered>;
};

export class Inbox {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #maxHops: () => number;
  readonly #limits: SenderLimits;
  readonly #wake: InboxOptions["wake"];
  readonly #interrupt: InboxOptions["interrupt"];
  readonly #steer: InboxOptions["steer"];
  readonly #received: InboxOptions["received"];

  constructor(options: InboxOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#maxHops = options.maxHops ?? (() => defaultMaxHops);
    this.#limits = new SenderLimits(options.clock, options.perMinute ?? (() => defaultPerMinute));
    this.#wake = options.wake;
    this.#interrupt = options.interrupt;
    this.#steer = options.steer;
    this.#received = options.received;
  }

  async admit(admission: Admission): Promise<Receipt> {
    const admitted = await this.#store.transact((tx) => this.admitIn(tx, admission));
    const isNew = !admitted.duplicate;
    const steered = admission.steer === true && isNew ? await this.#steer(admitted.message) : null;
    const cut = admission.interrupt === true && isNew && (await this.#interrupt(admission.session));
    this.#wake(admission.session);
    return steered === null ? receiptOf(admitted, cut) : steeredReceipt(admitted, steered);
  }

  /** Admits inside a transaction of the caller, who wakes the session after the commit. */
  async admitIn(tx: StoreTx, admission: Admission): Promise<Admitted> {
    checkBody(admission.body);
    const now = this.#clock.now();
    const session = await tx.sessions.get(admission.session);
    if (!session) throw new AegisError("not_found", `no session ${admission.session}`);
    const before = admission.id === undefined ? null : await tx.messages.get(admission.id);
    if (before) {
      await checkSame(tx, before, admission);
      return this.#duplicate(tx, before, session);
    }
    if (session.closed_at !== null) {
      throw new AegisError("closed", `session "${session.handle}" is closed`, { hint: "start a new one" });
    }
    const received = this.#received(tx, session, admission.sender, admission.body);
    const body = received ?? admission.body;
    const waiting = admission.sender.kind === "agent" ? await this.#sameWaiting(tx, { ...admission, body }) : null;
    if (waiting) return this.#duplicate(tx, waiting, session);
    if (received !== null) this.#limits.count(admission.sender);
    const hops = admission.cause ? admission.cause.hops + 1 : 0;
    if (hops > this.#maxHops()) throw tooManyHops(this.#maxHops());
    const id = admission.id ?? newId("msg", now);
    const message: Message = {
      id,
      session: session.id,
      sender: admission.sender,
      body,
      attachments: [...(admission.attachments ?? [])],
      status: "pending",
      chain: admission.cause?.chain ?? id,
      hops,
      admitted_at: now,
      turn: null,
    };
    const pending = await tx.messages.countPending(session.id);
    await tx.messages.insert(message, body === admission.body ? null : digestOf(admission.body));
    await tx.events.append({ type: "message.admitted", session: session.id, data: { message } }, now);
    const busy = session.state === "working" || pending > 0;
    return { message, duplicate: false, session, position: busy ? pending + 1 : 0 };
  }

  async #duplicate(tx: StoreTx, message: Message, session: SessionRow): Promise<Admitted> {
    const pending = await tx.messages.list(session.id, { status: "pending" });
    const place = pending.findIndex((one) => one.id === message.id);
    const queued = place > 0 || (place === 0 && session.state === "working");
    return { message, duplicate: true, session, position: queued ? place + 1 : 0 };
  }

  /** An agent that says the same again before it was read has said it once. */
  async #sameWaiting(tx: StoreTx, { session, sender, body }: Admission): Promise<Message | null> {
    const pending = await tx.messages.list(session, { status: "pending" });
    const same = (message: Message) => message.body === body && sameSender(message.sender, sender);
    return pending.find(same) ?? null;
  }

  async cancel(id: MessageId): Promise<Message> {
    return this.#store.transact(async (tx) => {
      const message = await tx.messages.get(id);
      if (!message) throw unknownMessage(id);
      if (message.status === "cancelled") return message;
      if (message.status !== "pending") {
        throw new AegisError("conflict", `message ${id} can no longer be taken back: it is ${message.status}`, {
          hint: message.status === "dispatched" ? "interrupt the session instead" : "nothing is left to do",
        });
      }
      await tx.messages.setStatus([id], "cancelled", null);
      await tx.events.append(
        { type: "message.cancelled", session: message.session, data: { message: id } },
        this.#clock.now(),
      );
      return { ...message, status: "cancelled" };
    });
  }

  async get(id: MessageId): Promise<Message> {
    const message = await this.#store.read.messages.get(id);
    if (!message) throw unknownMessage(id);
    return message;
  }

  async list(session: SessionId, filter: { status?: MessageStatus | undefined; limit: number }): Promise<Message[]> {
    return this.#store.read.messages.list(session, {
      limit: filter.limit,
      ...(filter.status === undefined ? {} : { status: filter.status }),
    });
  }
}

export function receiptOf(admitted: Admitted, cut: boolean): Receipt {
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

function steeredReceipt(admitted: Admitted, steered: Steered): Receipt {
  const plain = receiptOf(admitted, false);
  if (steered.joined)
    return { ...plain, outcome: "steered", position: 0, text: `joined the turn of ${admitted.session.handle}` };
  return steered.why === null ? plain : { ...plain, text: `${plain.text}: ${steered.why}` };
}

/** Plugins may have changed what was sent before: then it is known by its digest. */
async function checkSame(tx: StoreTx, before: Message, { session, body }: Admission): Promise<void> {
  const isSame = before.body === body || (await tx.messages.sentAs(before.id)) === digestOf(body);
  if (before.session === session && isSame) return;
  throw new AegisError("conflict", `message id ${before.id} was used before for another message`, {
    hint: "choose a fresh id for each message",
  });
}

function digestOf(body: string): string {
  return createHash("sha256").update(body).digest("hex");
}

function sameSender(a: Sender, b: Sender): boolean {
  return a.kind === "agent" && b.kind === "agent" && a.session === b.session;
}

/** Throws when no inbox would take it. */
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

function tooManyHops(limit: number): AegisError {
  return new AegisError(
    "too_many",
    `refused: this message is the ${limit + 1}th of a chain of agents answering each other`,
    {
      hint: `raise messages.max_hops (now ${limit}) if the chain is meant to be that long`,
    },
  );
}

function unknownMessage(id: MessageId): AegisError {
  return new AegisError("not_found", `no message ${id}`);
}
