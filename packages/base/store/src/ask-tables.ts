/** The table of asks, part of the store port. */
import type { Ask, AskAnswer, AskStatus } from "@aegis/contract/ask.ts";
import type { AskId, SessionId } from "@aegis/contract/ids.ts";
import type { NeedsYou } from "@aegis/contract/session.ts";

export interface AskReads {
  get(id: AskId): Promise<Ask | null>;
  /** The newest `limit`, oldest first. */
  list(filter: { status?: AskStatus | undefined; limit: number }): Promise<Ask[]>;
  /** The ask about this action that is open, or was answered while no caller waited. */
  findUnused(session: SessionId, digest: string): Promise<Ask | null>;
  /** Whether the session was ever given this answer about the tool; for a gate, when it asked for this very reason. */
  hasAnswer(
    about: { session: SessionId; tool: string; gate: boolean; reason: string | null },
    choice: string,
  ): Promise<boolean>;
  /** Sessions with open asks. */
  openBySession(): Promise<Map<SessionId, NeedsYou>>;
}

export interface AskTable extends AskReads {
  insert(ask: Ask): Promise<void>;
  /** Throws `conflict` when it is settled already. */
  settle(id: AskId, settlement: AskSettlement): Promise<void>;
  /** The asking session has received the answer, so it applies to nothing else. */
  markUsed(id: AskId): Promise<void>;
  /** The answer of a settled ask, without its secrets. */
  replaceAnswer(id: AskId, answer: AskAnswer): Promise<void>;
}

export type AskSettlement = {
  status: Exclude<AskStatus, "open">;
  answer: AskAnswer | null;
  at: number;
  /** The asking session has received it. */
  used: boolean;
  by: string | null;
  reason: string | null;
};
