/** Messages that join a turn under way: each is handed over once and on record before the turn can end. */
import type { TurnId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import type { Addition, Conversation } from "../../drivers/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Persist } from "../../store/persist.ts";
import type { Steered } from "../inbox/inbox.ts";

export type JoiningOptions = {
  turn: TurnId;
  persist: Persist;
  clock: Clock;
  /** What the harness is given of a message. */
  addition: (message: Message) => Addition;
};

export class Joining {
  readonly #options: JoiningOptions;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #joined: Message[] = [];
  #conversation: Conversation | null = null;
  #isOver = false;

  constructor(options: JoiningOptions) {
    this.#options = options;
  }

  get messages(): readonly Message[] {
    return this.#joined;
  }

  /** From now on there is somebody to hand messages to. */
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

  /** Takes no more. Resolves when what was taken is on record. */
  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#underWay);
  }

  async #add(message: Message): Promise<Steered> {
    if (this.#isOver || this.#conversation === null) return { joined: false, why: null };
    if (this.#conversation.steer === undefined)
      return { joined: false, why: "its harness takes no message in the middle of a turn" };
    // The row waits until the harness has the message: one that a crash keeps from it goes to the next turn.
    const taken = await this.#conversation.steer(this.#options.addition(message));
    if (!taken) return { joined: false, why: "its harness did not take it into the turn under way" };
    const { persist, clock, turn } = this.#options;
    await persist(async (tx) => {
      await tx.messages.setStatus([message.id], "dispatched", turn);
      const data = { message: message.id, turn };
      await tx.events.append({ type: "message.steered", session: message.session, data }, clock.now());
    });
    this.#joined.push(message);
    return { joined: true };
  }
}
