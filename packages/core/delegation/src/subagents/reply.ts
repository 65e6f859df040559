/** Waits for the turn that answers a message. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { MessageId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { until } from "@aegis/sessions/until.ts";
import type { Store, TurnRow } from "@aegis/store/store.ts";
import { answerEvents } from "../work/session-events.ts";

export type SubagentReply = { text: string; turn: TurnRow };

export type ReplyOptions = { store: Store; clock: Clock; signal: AbortSignal; deadline: number };

/** Returns null after the timeout. Throws if the message can never be answered, or if the signal aborts. */
export function replyTo(id: MessageId, options: ReplyOptions): Promise<SubagentReply | null> {
  const { read } = options.store;
  return until({
    ...options,
    mayChange: (event) => answerEvents.has(event.type),
    async look() {
      const message = await read.messages.get(id);
      if (message === null) throw new AegisError("not_found", `no message ${id}`);
      if (message.status === "refused" || message.status === "cancelled" || message.status === "lost") {
        throw new AegisError("closed", `the message ${id} will not be answered: it was ${message.status}`);
      }
      if (message.status !== "done" || message.turn === null) return null;
      const turn = await read.turns.get(message.turn);
      return turn === null || turn.ended_at === null ? null : { text: turn.text, turn };
    },
  });
}
