/** Extension points of sessions. The composition root fills them before the first turn. */
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import type { SessionRow } from "../../store/store.ts";
import type { Toolset } from "../tables/toolset.ts";
import type { TurnContributor } from "./prepare.ts";

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
