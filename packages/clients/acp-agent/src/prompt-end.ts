/** How the end of a turn answers the prompt that started it. */

import type { Message } from "@aegis/contract/message.ts";
import type { Turn, TurnReason } from "@aegis/contract/turn.ts";
import { type PromptResponse, RequestError, type StopReason } from "@agentclientprotocol/sdk/unstable";

const stopReasons: Readonly<Partial<Record<TurnReason, StopReason>>> = {
  completed: "end_turn",
  cancelled: "cancelled",
  refused: "refusal",
  truncated: "max_tokens",
};

/** Throws the error that the editor shows if the prompt was not answered. */
export function promptResponse({ message, turn }: { message: Message; turn: Turn | null }): PromptResponse {
  if (message.status === "cancelled") return { stopReason: "cancelled" };
  if (message.status === "refused") throw failure("the session was closed before it took the prompt");
  if (message.status === "lost") throw failure("the turn was interrupted by a crash and was not repeated");
  if (turn === null || turn.reason === null) return { stopReason: "end_turn" };
  const stopReason = stopReasons[turn.reason];
  if (stopReason === undefined) {
    const { message: text = `the turn ended as ${turn.reason}`, fix, code } = turn.error ?? {};
    throw failure(fix === undefined ? text : `${text} (${fix})`, code);
  }
  const { usage } = turn;
  if (usage === null) return { stopReason };
  return {
    stopReason,
    usage: {
      inputTokens: usage.input,
      outputTokens: usage.output,
      totalTokens: usage.input + usage.cache_read + usage.cache_write + usage.output,
      cachedReadTokens: usage.cache_read,
      cachedWriteTokens: usage.cache_write,
    },
  };
}

function failure(message: string, code = "failed"): RequestError {
  return new RequestError(-32603, message, { code });
}
