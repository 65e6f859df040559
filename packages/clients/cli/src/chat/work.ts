/** What a session is doing, for the work indicator. */
import type { Event } from "@aegis/contract/event.ts";
import { oneLine } from "../format/text.ts";

export type Work = {
  /** When the turn began. */
  since: number;
  /** The running tool call; null if there is none. */
  doing: string | null;
};

export class WorkWatch {
  #since: number | null = null;
  /** Running tool calls by id. */
  readonly #calls = new Map<string, string>();

  /** A turn that began before the chat connected is timed from the first call. */
  look(now: number): Work {
    this.#since ??= now;
    return { since: this.#since, doing: [...this.#calls.values()].at(-1) ?? null };
  }

  /** Returns false if the event changes nothing here. */
  learn(event: Event): boolean {
    switch (event.type) {
      case "turn.started":
        this.#since = event.at;
        return true;
      case "turn.tool_call":
        this.#calls.set(event.data.call, oneLine(event.data.title === "" ? event.data.name : event.data.title));
        return true;
      case "turn.tool_result":
        return this.#calls.delete(event.data.call);
      case "turn.ended":
        this.reset();
        return true;
      default:
        return false;
    }
  }

  reset(): void {
    this.#since = null;
    this.#calls.clear();
  }
}
