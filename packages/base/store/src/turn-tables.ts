/** The table of turns and what they used, part of the store port. */
import type { MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Turn, TurnError, TurnReason, Usage, UsageTotal } from "@aegis/contract/turn.ts";
import type { UsagePoint, UsageSums } from "@aegis/contract/usage.ts";
import type { UsageGrouping } from "@aegis/contract/usage-names.ts";

/** A turn as stored. */
export type TurnRow = Turn & {
  /** The harness has recorded the prompt: after a crash it must not be sent again. */
  accepted: boolean;
  /** Each time that its messages were handed over to a harness, also by the turns before it that were cut. */
  handed_over: readonly HandOver[];
};

/** A prompt that was about to be written to a harness. */
export type HandOver = {
  turn: TurnId;
  key: string;
  /** Identifies the prompt's text without holding it. Empty in state of a version that did not record it. */
  print: string;
  /** What the harness called the conversation. */
  conversation: string | null;
  /** The message, if it joined a running turn. Absent for the messages that the turn started with. */
  joined?: MessageId;
};

export interface TurnReads {
  get(id: TurnId): Promise<TurnRow | null>;
  /** Newest first; with `until` those whose end came no later. */
  list(session: SessionId, limit: number, until?: number): Promise<TurnRow[]>;
  /** The newest turn that had started at that time. */
  lastStarted(session: SessionId, at: number): Promise<TurnRow | null>;
  /** Turns without an end; with `node` those of sessions of that node. */
  open(node?: string | null): Promise<TurnRow[]>;
  /** Ended turns of a session whose end came after `seq`. */
  countEndedAfter(session: SessionId, seq: number): Promise<number>;
  /** The recorded usage of one session's turns, or of the turns of every open session; null when there is none. */
  usage(session?: SessionId): Promise<UsageTotal | null>;
  /** Sums of turns by the time of their start. */
  spent(query: SpentQuery): Promise<Spent>;
}

export type SpentQuery = {
  by: UsageGrouping;
  /** The first moment, and the first one after. */
  from: number;
  to: number;
  bucketMs: number;
  /** Added to each time before it is divided into buckets. */
  offsetMs: number;
  /** The most groups. */
  limit: number;
};

export type SpentRow = UsagePoint & { key: string | null };

export type Spent = {
  /** The highest cost first. */
  groups: (UsageSums & { key: string | null })[];
  /** The buckets of these groups, oldest first. */
  points: SpentRow[];
  /** The buckets of all groups together. */
  all: UsagePoint[];
};

export interface TurnTable extends TurnReads {
  insert(turn: TurnRow): Promise<void>;
  accept(id: TurnId): Promise<void>;
  /** Replaces what is stored. Throws `conflict` when the turn has ended. */
  handOver(id: TurnId, handed: readonly HandOver[]): Promise<void>;
  /** What it has used so far: it counts towards budgets, and is kept when the turn is cut. */
  spend(id: TurnId, usage: Usage): Promise<void>;
  /** What the agent has said so far, kept when the turn is cut. Changes nothing once the turn has ended. */
  say(id: TurnId, text: string): Promise<void>;
  /** Throws `conflict` when the turn has ended before. */
  end(id: TurnId, end: TurnEnd): Promise<void>;
}

export type TurnEnd = {
  at: number;
  reason: TurnReason;
  error: TurnError | null;
  text: string;
  usage: Usage | null;
  /** The number of the event that recorded the end. */
  seq: number;
};
