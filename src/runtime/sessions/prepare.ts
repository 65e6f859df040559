/**
 * Composes an agent's input from a turn's messages and contributions. Each contributor sees the result of the earlier
 * ones.
 */
import type { HookEvent } from "../../contract/hook.ts";
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import { escapeHeaders } from "../../contract/message-header.ts";
import type { HistoryMessage } from "../../drivers/driver.ts";

export type TurnToPrepare = {
  session: SessionId;
  turn: TurnId;
  messages: readonly Message[];
  /** The rendered messages, unless a contributor replaces the text. */
  text: string;
};

export type Contribution = {
  /** Added before the messages, after the context of earlier contributors. */
  context?: string;
  /** Replaces the text of the messages. */
  text?: string;
  /** Added to the previous conversation. */
  history?: readonly HistoryMessage[];
};

export type TurnContributor = {
  /** It contributes only while this event has hooks. */
  readonly hook?: HookEvent;
  /** `blocked` stops the turn and gives the reason. */
  contribute(turn: TurnToPrepare, signal: AbortSignal): Promise<Contribution | { blocked: string } | null>;
};

export type PreparedTurn = { text: string; history: readonly HistoryMessage[] };

export async function prepareTurn(
  contributors: readonly TurnContributor[],
  hookEvents: ReadonlySet<HookEvent>,
  turn: TurnToPrepare,
  signal: AbortSignal,
): Promise<PreparedTurn | { blocked: string }> {
  const context: string[] = [];
  const history: HistoryMessage[] = [];
  let { text } = turn;
  for (const contributor of contributors) {
    if (contributor.hook !== undefined && !hookEvents.has(contributor.hook)) continue;
    const given = await contributor.contribute({ ...turn, text }, signal);
    if (given === null) continue;
    if ("blocked" in given) return given;
    // Context from skills or plugins is not a message and must not look like one.
    if (given.context !== undefined && given.context !== "") context.push(escapeHeaders(given.context));
    if (given.history !== undefined) history.push(...given.history);
    text = given.text ?? text;
  }
  return { text: [...context, text].join("\n\n"), history };
}
