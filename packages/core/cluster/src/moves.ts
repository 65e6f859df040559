/** Moves sessions from one node to another inside a transaction of the caller. */

import type { Clock } from "@aegis/lib/clock.ts";
import { recordMemoryLoss } from "@aegis/sessions/memory.ts";
import type { SessionRow, StoreReads, StoreTx } from "@aegis/store/store.ts";

export type MovesOptions = {
  clock: Clock;
  /** Whether the memory of a session of this harness is in the event log. */
  resumesAnywhere: (harness: string) => boolean;
};

/** The open sessions of a node. */
export async function sessionsOf(tx: Pick<StoreReads, "sessions">, node: string): Promise<SessionRow[]> {
  return (await tx.sessions.list({ closed: false })).filter((row) => row.node === node);
}

/** Whether the session loses nothing on another machine: its memory is in the event log, and it has no worktree. */
export async function canMove(tx: StoreTx, session: SessionRow, { resumesAnywhere }: MovesOptions): Promise<boolean> {
  if ((await tx.worktrees.get(session.id)) !== null) return false;
  if (resumesAnywhere(session.harness)) return true;
  return (await tx.turns.list(session.id, 1)).length === 0;
}

export async function move(tx: StoreTx, session: SessionRow, to: string, { clock }: MovesOptions): Promise<void> {
  await tx.sessions.update(session.id, { node: to });
  const data = { node: to, from: session.node ?? null };
  await tx.events.append({ type: "session.moved", session: session.id, data }, clock.now());
}

/** Moves a session whose memory is lost with its machine. Its next turn begins a new conversation. */
export async function moveWithoutMemory(
  tx: StoreTx,
  session: SessionRow,
  to: string,
  options: MovesOptions,
): Promise<void> {
  const { clock } = options;
  await move(tx, session, to, options);
  if (await canMove(tx, session, options)) return;
  await tx.sessions.update(session.id, { resume: null });
  await recordMemoryLoss(tx, session.id, clock);
  const text = `node ${session.node} did not come back: the session continues on node ${to} in a new conversation`;
  await tx.events.append(
    { type: "session.notice", session: session.id, data: { level: "warning", text } },
    clock.now(),
  );
}
