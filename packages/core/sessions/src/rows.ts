/** Finds rows of sessions and converts them to what clients see. */
import { AegisError } from "@aegis/contract/errors.ts";
import { isId, type SessionId } from "@aegis/contract/ids.ts";
import type { Session } from "@aegis/contract/session.ts";
import type { Turn } from "@aegis/contract/turn.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { SessionReads, SessionRow, TurnRow } from "@aegis/store/store.ts";

/** By id, then by the handle of a live session, then by the handle of the most recently closed one. */
export async function findSession(
  { sessions }: { readonly sessions: SessionReads },
  reference: string,
): Promise<SessionRow> {
  if (isId("ses", reference)) {
    const row = await sessions.get(reference);
    if (row) return row;
  } else {
    const live = await sessions.byHandle(reference);
    if (live) return live;
  }
  const all = await sessions.list();
  const closed = all.find((row) => row.handle === reference);
  if (closed) return closed;
  const handles = all.filter((row) => row.closed_at === null).map((row) => row.handle);
  throw new AegisError("not_found", `no session "${reference}"${didYouMean(reference, handles)}`, {
    hint: handles.length === 0 ? "no session is open" : `open sessions: ${handles.slice(0, 20).join(", ")}`,
  });
}

/** Throws `closed` for a closed session. */
export async function liveRow(from: { readonly sessions: SessionReads }, id: SessionId): Promise<SessionRow> {
  const row = await from.sessions.get(id);
  if (!row) throw unknownSession(id);
  if (row.closed_at !== null) throw new AegisError("closed", `session "${row.handle}" is closed`);
  return row;
}

export function unknownSession(id: SessionId): AegisError {
  return new AegisError("not_found", `no session ${id}`);
}

/** Removes fields that only the runtime needs. */
export function publicSession(row: SessionRow): Session {
  const { resume: _, limits: __, fork_point: ___, started_by: ____, root: _____, ...session } = row;
  return session;
}

export function publicTurn(row: TurnRow): Turn {
  const { accepted: _, handed_over: __, ...turn } = row;
  return turn;
}
