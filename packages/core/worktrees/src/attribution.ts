/** Decides which sessions may have changed a file, from the boundaries of turns in one folder. */
import type { Attribution } from "@aegis/contract/changes.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { BoundaryRow } from "@aegis/store/store.ts";

/** A stretch between two states of a folder. `sessions` had an open turn during it. */
export type Interval = { from: string; to: string; sessions: ReadonlySet<SessionId> };

type Edge = Pick<BoundaryRow, "session" | "edge" | "tree">;

/**
 * `before` are the turns that were open before the first boundary. A boundary without a tree joins the stretches on both
 * sides of it: every session of either may have made the changes.
 */
export function intervalsOf(before: readonly Pick<BoundaryRow, "session">[], boundaries: readonly Edge[]): Interval[] {
  const open = new Map<SessionId, number>();
  const change = (session: SessionId, by: number) => open.set(session, (open.get(session) ?? 0) + by);
  for (const { session } of before) change(session, 1);
  const present = () => [...open].filter(([, count]) => count > 0).map(([session]) => session);
  const found: Interval[] = [];
  let from: string | null = null;
  let during = new Set<SessionId>();
  for (const { session, edge, tree } of boundaries) {
    if (from !== null && tree !== null) found.push({ from, to: tree, sessions: during });
    change(session, edge === "open" ? 1 : -1);
    if (tree !== null) {
      from = tree;
      during = new Set();
    }
    for (const one of present()) during.add(one);
  }
  return found;
}

export type AttributedChange = { sessions: ReadonlySet<SessionId>; named: ReadonlySet<SessionId> };

export type JudgedChange = { attribution: Attribution; sessions: SessionId[]; outside: boolean };

/** `changes` are the intervals in which the file changed. Null if the session did not change it. */
export function attribute(session: SessionId, changes: readonly AttributedChange[]): JudgedChange | null {
  const candidates = new Set<SessionId>();
  let isOwn = false;
  let isNamed = false;
  let outside = false;
  for (const { sessions, named } of changes) {
    if (sessions.size === 0) outside = true;
    const among = sessions.size > 1 && named.size > 0 ? named : sessions;
    for (const one of among) candidates.add(one);
    if (!among.has(session)) continue;
    isOwn = true;
    if (sessions.size > 1 && named.size > 0) isNamed = true;
  }
  if (!isOwn) return null;
  const attribution = candidates.size > 1 ? "shared" : isNamed ? "named" : "sole";
  return { attribution, sessions: [...candidates], outside };
}
