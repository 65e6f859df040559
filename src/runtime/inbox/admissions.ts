/**
 * Writes messages into inboxes. Every request for work, from any sender, is a message that is durable before anything
 * else happens. Admission is idempotent by message id.
 */
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
import { textDigest } from "../../lib/text-digest.ts";
import type { SessionRow, Store, StoreTx } from "../../store/store.ts";
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

export type Admitted = { message: Message; duplicate: boolean; session: SessionRow; position: number };

export type AdmissionsOptions = {
  store: Store;
  clock: Clock;
  maxHops?: () => number;
  /** The message rate limit of an agent. */
  perMinute?: () => number;
};

export class Admissions {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #maxHops: () => number;
  readonly #limits: SenderLimits;

  constructor(options: AdmissionsOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#maxHops = options.maxHops ?? (() => defaultMaxHops);
    this.#limits = new SenderLimits(options.clock, options.perMinute ?? (() => defaultPerMinute));
  }

  /** Admits inside the caller's transaction. The caller wakes the session after the commit. */
  async admitIn(tx: StoreTx, admission: Admission): Promise<Admitted> {
    checkBody(admission.body);
    const now = this.#clock.now();
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
    const hops = admission.cause ? admission.cause.hops + 1 : 0;
    if (hops > 0 && hops > this.#maxHops()) throw tooManyHops(this.#maxHops());
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
    const busy = session.state === "working" || pending > 0;
    return { message, duplicate: false, session, position: busy ? pending + 1 : 0 };
  }

  async #duplicate(tx: StoreTx, message: Message, session: SessionRow): Promise<Admitted> {
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

  /** Throws `not_found` if `before` is not a message of the session. */
  async list(session: SessionId, { status, before, limit, from = "oldest" }: MessageQuery): Promise<Message[]> {
    if (before !== undefined && (await this.get(before)).session !== session) throw unknownMessage(before);
    return this.#store.read.messages.list(session, {
      ...{ limit, from },
      ...(status === undefined ? {} : { status }),
      ...(before === undefined ? {} : { before }),
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
