/** Rows of sessions and turns: how they are found, and what clients see of them. */
import { AegisError } from "../../contract/errors.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { Session } from "../../contract/session.ts";
import type { Turn } from "../../contract/turn.ts";
import type { SessionReads, SessionRow, TurnRow } from "../../store/store.ts";

/** Throws `closed` for one that is. */
export async function liveRow(from: { readonly sessions: SessionReads }, id: SessionId): Promise<SessionRow> {
  const row = await from.sessions.get(id);
  if (!row) throw unknownSession(id);
  if (row.closed_at !== null) throw new AegisError("closed", `session "${row.handle}" is closed`);
  return row;
}

export function unknownSession(id: SessionId): AegisError {
  return new AegisError("not_found", `no session ${id}`);
}

/** Without what only the runtime needs. */
export function publicSession(row: SessionRow): Session {
  const { resume: _, limits: __, fork_point: ___, ...session } = row;
  return session;
}

export function publicTurn(row: TurnRow): Turn {
  const { accepted: _, ...turn } = row;
  return turn;
}
