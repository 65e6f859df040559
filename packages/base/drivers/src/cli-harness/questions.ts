/** Open questions of a harness. The harness can withdraw each one, and all end with their turn. */
import { errorText } from "@aegis/lib/log.ts";
import type { JsonFields } from "./fields.ts";
import type { Turns } from "./turns.ts";

export type Reply = { respond(answer: JsonFields): void; refuse(reason: string): void };

export class Questions<Id> {
  readonly #turns: Turns;
  readonly #open = new Map<Id, AbortController>();

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  /** `answer` returns null for an unknown question. A withdrawn question gets no reply. */
  async ask(
    id: Id,
    what: string,
    answer: (signal: AbortSignal) => Promise<JsonFields | null>,
    reply: Reply,
  ): Promise<void> {
    const withdrawn = new AbortController();
    const turn = this.#turns.signal;
    const signal = turn === null ? withdrawn.signal : AbortSignal.any([withdrawn.signal, turn]);
    const wait = `question:${String(id)}`;
    this.#open.set(id, withdrawn);
    this.#turns.waits.begin(wait);
    try {
      const given = await answer(signal);
      if (withdrawn.signal.aborted) return;
      if (given === null) reply.refuse(`Aegis does not answer "${what}".`);
      else reply.respond(given);
    } catch (error) {
      reply.refuse(errorText(error));
    } finally {
      this.#open.delete(id);
      this.#turns.waits.end(wait);
    }
  }

  withdraw(id: Id): void {
    this.#open.get(id)?.abort();
  }

  withdrawAll(): void {
    for (const question of this.#open.values()) question.abort();
  }
}
