/** The table of sessions, part of the store port. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Session, SessionLimits } from "@aegis/contract/session.ts";

/** A session as stored: the fields that clients see, and those that only the runtime uses. */
export type SessionRow = Session & {
  /** The harness's id of the conversation, used to resume it. */
  resume: string | null;
  /** Null if only its agent limits it. */
  limits: SessionLimits | null;
  /** The session that started it, by any means; null if a person or a schedule did. */
  started_by: SessionId | null;
  /** The root session of its tree; null if it is the root itself. */
  root: SessionId | null;
  /** The point at which it was forked. */
  fork_point: ForkPoint | null;
};

/** What commands without a daemon read of a session. */
export type OpenSession = Pick<Session, "handle" | "agent" | "harness">;

export type ForkPoint = {
  /** The fork shares the history up to this event. */
  seq: number;
  /** The harness's id of the original conversation. */
  resume: string | null;
};

export interface SessionReads {
  get(id: SessionId): Promise<SessionRow | null>;
  /** The live session with this handle. */
  byHandle(handle: string): Promise<SessionRow | null>;
  /** Newest first. `closed` selects closed or live sessions; without it, all are returned. */
  list(filter?: { closed?: boolean }): Promise<SessionRow[]>;
  countByState(): Promise<Record<Session["state"], number>>;
}

export interface SessionTable extends SessionReads {
  /** Throws `conflict` if a live session has that handle. */
  insert(row: SessionRow): Promise<void>;
  update(id: SessionId, change: Partial<Omit<SessionRow, "id" | "created_at">>): Promise<void>;
}
