/** What is put around a turn's messages before the agent sees them. Each contributor sees what earlier ones made. */
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import type { HistoryMessage } from "../../drivers/driver.ts";

export type TurnToPrepare = {
  session: SessionId;
  turn: TurnId;
  messages: readonly Message[];
  /** The messages as the agent will read them, unless a contributor gives other text. */
  text: string;
};

export type Contribution = {
  /** Goes ahead of the messages, after what earlier contributors put there. */
  context?: string;
  /** Replaces the messages' text. */
  text?: string;
  /** Is added to what was said before. */
  history?: readonly HistoryMessage[];
};

/** `blocked` stops the turn and says why. */
export type TurnContributor = (
  turn: TurnToPrepare,
  signal: AbortSignal,
) => Promise<Contribution | { blocked: string } | null>;

export type PreparedTurn = { text: string; history: readonly HistoryMessage[] };

export async function prepareTurn(
  contributors: readonly TurnContributor[],
  turn: TurnToPrepare,
  signal: AbortSignal,
): Promise<PreparedTurn | { blocked: string }> {
  const context: string[] = [];
  const history: HistoryMessage[] = [];
  let { text } = turn;
  for (const contribute of contributors) {
    const given = await contribute({ ...turn, text }, signal);
    if (given === null) continue;
    if ("blocked" in given) return given;
    if (given.context !== undefined && given.context !== "") context.push(given.context);
    if (given.history !== undefined) history.push(...given.history);
    text = given.text ?? text;
  }
  return { text: [...context, text].join("\n\n"), history };
}
