/** Messages that join a running turn: each is recorded before its delivery and settled before the turn can end. */
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import type { Addition, Conversation } from "../../drivers/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import type { StoreTx } from "../../store/store.ts";
import type { Transact } from "../../store/transact.ts";
import type { Steered } from "../remote/session-processes.ts";
import { addHandOvers, type InterruptedJoin, recordHandOver, withdrawHandOver } from "./interrupted-turn.ts";

export type SteeringOptions = {
  session: SessionId;
  turn: TurnId;
  transact: Transact;
  clock: Clock;
  /** The harness's input for a message, given the messages that joined before it. */
  addition: (message: Message, joined: readonly Message[]) => Addition;
};

export class Steering {
  readonly #options: SteeringOptions;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #joined: Message[] = [];
  readonly #offered: Message[] = [];
  #conversation: Conversation | null = null;
  #isOver = false;

  constructor(options: SteeringOptions) {
    this.#options = options;
  }

  get messages(): readonly Message[] {
    return this.#joined;
  }

  /** Adopts messages that had joined the interrupted turn which this one continues: its harness has them. */
  async adopt(joined: readonly InterruptedJoin[]): Promise<void> {
    if (joined.length === 0) return;
    const messages = joined.map(({ message }) => message);
    const handed = joined.flatMap(({ interrupted }) => interrupted.handed);
    await this.#options.transact(async (tx) => {
      await addHandOvers(tx, this.#options.turn, handed);
      await this.#record(tx, messages);
    });
    this.#joined.push(...messages);
  }

  /** Messages can be delivered from now on. */
  opened(conversation: Conversation): void {
    this.#conversation = conversation;
  }

  add(message: Message): Promise<Steered> {
    const adding = this.#add(message);
    this.#underWay.add(adding);
    const settled = () => void this.#underWay.delete(adding);
    adding.then(settled, settled);
    return adding;
  }

  /** Accepts no more messages. Resolves when the accepted ones are recorded. */
  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#underWay);
  }

  async #add(message: Message): Promise<Steered> {
    if (this.#isOver || this.#conversation === null) return { joined: false, why: null };
    if (this.#conversation.steer === undefined)
      return { joined: false, why: "its harness takes no message in the middle of a turn" };
    // A message whose delivery is still running counts: the harness may read it first.
    const addition = this.#options.addition(message, this.#offered);
    this.#offered.push(message);
    const { transact, session, turn } = this.#options;
    await transact((tx) => recordHandOver(tx, { ...addition, session, turn, joined: message.id }));
    const taken = await this.#conversation.steer(addition);
    if (!taken) {
      await transact((tx) => withdrawHandOver(tx, turn, message.id));
      return { joined: false, why: "its harness did not accept it into the running turn" };
    }
    await transact((tx) => this.#record(tx, [message]));
    this.#joined.push(message);
    return { joined: true };
  }

  async #record(tx: StoreTx, messages: readonly Message[]): Promise<void> {
    const { clock, turn } = this.#options;
    for (const { id, session } of messages) {
      await tx.messages.setStatus([id], "dispatched", turn);
      await tx.events.append({ type: "message.steered", session, data: { message: id, turn } }, clock.now());
    }
  }
}
