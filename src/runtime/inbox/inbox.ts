/** The single entry point for messages: admits them, then steers, interrupts or wakes their session. */
import { isAegisError } from "../../contract/errors.ts";
import type { MessageId, SessionId } from "../../contract/ids.ts";
import type { Message, Receipt } from "../../contract/message.ts";
import { errorText } from "../../lib/log.ts";
import type { SessionRow, Store, StoreTx } from "../../store/store.ts";
import { nodeOf } from "../remote/node-of.ts";
import type { Steered } from "../remote/session-processes.ts";
import { type Admission, type Admissions, type Admitted, type MessageQuery, receiptOf } from "./admissions.ts";
import { type SkillRouting, withReason } from "./routing.ts";

export type InboxOptions = {
  store: Store;
  admissions: Admissions;
  /** Delivers the messages of a session. */
  turns: {
    /** A hint that the session has messages. */
    wake(session: SessionId): void;
    /** Ends the current turn. Returns false if there is none. */
    interrupt(session: SessionId): Promise<boolean>;
    /** Adds a pending message to the current turn. */
    steer(message: Message): Promise<Steered>;
  };
  /**
   * Routes a person's messages by the skills that they require. Without it, messages stay in the session they were sent
   * to.
   */
  routing?: SkillRouting;
};

export class Inbox {
  readonly #options: InboxOptions;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  async admit(given: Admission): Promise<Receipt> {
    const { store, turns, routing } = this.#options;
    const { admission, from, route } = (await routing?.of(given)) ?? { admission: given, from: null, route: null };
    const admitted = await store.transact(async (tx) => {
      if (routing === undefined || from === null || route === null) return this.admitIn(tx, admission);
      const session = await routing.target(tx, from, route);
      const elsewhere = await this.admitIn(tx, { ...admission, session });
      await routing.record(tx, from, route, elsewhere);
      return elsewhere;
    });
    const session = admitted.session.id;
    const isNew = !admitted.duplicate;
    const steered = admission.steer === true && isNew ? await this.#steer(admitted.message) : null;
    const cut = admission.interrupt === true && isNew && (await this.#interrupt(session));
    turns.wake(session);
    const receipt =
      steered === null
        ? await this.#withAway(receiptOf(admitted, cut), admitted.session)
        : steeredReceipt(admitted, steered);
    return route === null ? receipt : withReason(receipt, route);
  }

  /** Admits inside the caller's transaction. The caller wakes the session after the commit. */
  admitIn(tx: StoreTx, admission: Admission): Promise<Admitted> {
    return this.#options.admissions.admitIn(tx, admission);
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
  async #steer(message: Message): Promise<Steered> {
    try {
      return await this.#options.turns.steer(message);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      return { joined: false, why: errorText(error) };
    }
  }

  async #interrupt(session: SessionId): Promise<boolean> {
    try {
      return await this.#options.turns.interrupt(session);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      return false;
    }
  }

  cancel(id: MessageId): Promise<Message> {
    return this.#options.admissions.cancel(id);
  }

  get(id: MessageId): Promise<Message> {
    return this.#options.admissions.get(id);
  }

  list(session: SessionId, filter: MessageQuery): Promise<Message[]> {
    return this.#options.admissions.list(session, filter);
  }
}

function isUnreachable(error: unknown): boolean {
  return isAegisError(error) && (error.code === "timeout" || error.code === "unavailable");
}

function steeredReceipt(admitted: Admitted, steered: Steered): Receipt {
  const plain = receiptOf(admitted, false);
  if (steered.joined)
    return { ...plain, outcome: "steered", position: 0, text: `joined the turn of ${admitted.session.handle}` };
  return steered.why === null ? plain : { ...plain, text: `${plain.text}: ${steered.why}` };
}
