/** The part of the store port that holds sessions. */
import type { SessionId } from "../contract/ids.ts";
import type { Session, SessionLimits } from "../contract/session.ts";

/** A session as stored: what clients see, and what only the runtime needs. */
export type SessionRow = Session & {
  /** What the harness calls this conversation; given back to it to resume. */
  resume: string | null;
  /** Null when nobody but its agent limits it. */
  limits: SessionLimits | null;
  /** Where it left the session it was forked from. */
  fork_point: ForkPoint | null;
};

export type ForkPoint = {
  /** What the other session remembered up to this event is remembered here too. */
  seq: number;
  /** What the harness called the other conversation. */
  resume: string | null;
};

export interface SessionReads {
  get(id: SessionId): Promise<SessionRow | null>;
  /** The one session alive under this handle. */
  byHandle(handle: string): Promise<SessionRow | null>;
  /** Newest first. `closed` keeps only closed or only live ones; without it all are given. */
  list(filter?: { closed?: boolean }): Promise<SessionRow[]>;
  countByState(): Promise<Record<Session["state"], number>>;
}

export interface SessionTable extends SessionReads {
  /** Throws `conflict` when a live session has that handle. */
  insert(row: SessionRow): Promise<void>;
  update(id: SessionId, change: Partial<Omit<SessionRow, "id" | "created_at">>): Promise<void>;
}
