/** Extension points of sessions, which the composition root fills before the first turn, and how they are used. */

import type { HookEvent } from "@aegis/contract/hook.ts";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import { escapeHeaders } from "@aegis/contract/message-header.ts";
import type { HistoryMessage } from "@aegis/drivers/driver.ts";
import type { SessionRow } from "@aegis/store/store.ts";
import type { Toolset } from "./tools/toolset.ts";

export class SessionExtensions {
  /** Contributors to the agent's input, in order. */
  readonly contributors: TurnContributor[] = [];
  /** Sections of the system prompt for certain sessions; an empty text adds nothing. */
  readonly briefings: ((session: SessionRow) => Promise<string>)[] = [];
  /**
   * The skills section of the system prompt. `about` is the text for which the conversation is opened, or null if it is
   * not opened now.
   */
  readonly skillSections: ((session: SessionRow, tools: Toolset, about: string | null) => Promise<string>)[] = [];
  /** Return the reason why a message must not join a running turn, or null. */
  readonly steerRefusals: ((message: Message) => Promise<string | null>)[] = [];
  /** Where a session works and what its environment gains; null for the project's folder. The first answer counts. */
  readonly folders: { folder(session: SessionId): Promise<SessionFolder | null> }[] = [];
  /** Called before the agent is called, and after it has answered but before the end of the turn is recorded. */
  readonly turnEdges: TurnEdges[] = [];
}

export type SessionFolder = { cwd: string; env: Readonly<Record<string, string>> };

/** Creates the folder if it is not there yet. Throws if it cannot be used. */
export async function folderOf(
  { folders }: SessionExtensions,
  session: SessionId,
  project: string,
): Promise<SessionFolder> {
  for (const place of folders) {
    const found = await place.folder(session);
    if (found !== null) return found;
  }
  return { cwd: project, env: {} };
}

export type TurnEdges = {
  begins(session: SessionId, turn: TurnId): Promise<void>;
  ends(session: SessionId, turn: TurnId): Promise<void>;
};

/** Joins the non-empty texts. */
export async function joined(texts: readonly Promise<string>[]): Promise<string> {
  return (await Promise.all(texts)).filter((text) => text !== "").join("\n\n");
}

export type TurnToPrepare = {
  session: SessionId;
  turn: TurnId;
  messages: readonly Message[];
  /** The rendered messages, unless a contributor replaces the text. */
  text: string;
};

export type PromptContribution = {
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
  contribute(turn: TurnToPrepare, signal: AbortSignal): Promise<PromptContribution | { blocked: string } | null>;
};

export type PreparedTurn = { text: string; history: readonly HistoryMessage[] };

/** Composes an agent's input from a turn's messages. Each contributor sees the result of the earlier ones. */
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
