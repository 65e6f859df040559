/** The open sessions as a tree: subagents below their parents. */

import type { Card } from "@aegis/client/model/board.ts";
import type { Team } from "@aegis/client/model/team.ts";
import type { Subagent } from "@aegis/contract/subagent.ts";
import { type Activity, activityOf } from "./activity.ts";
import { needsYou } from "./needs-you.ts";

export type TeamRow = {
  readonly session: Card;
  /** Null for a session that is not a subagent, or whose start the client did not see. */
  readonly subagent: Subagent | null;
  readonly depth: number;
  /** For each level below the root: whether it is the last of its siblings. */
  readonly last: readonly boolean[];
  readonly activity: Activity;
};

/** Sessions in order of their start; those of a parent follow it. */
export function teamTree(team: Team): TeamRow[] {
  const bySession = new Map(Object.values(team.subagents).map((one) => [one.session, one]));
  const shown = Object.values(team.cards)
    .filter((session) => session.state !== "closed")
    .sort((a, b) => a.created_at - b.created_at);
  const known = new Set(shown.map(({ id }) => id));
  const children = new Map<string, Card[]>();
  for (const session of shown) {
    const parent = session.parent !== null && known.has(session.parent) ? session.parent : "";
    children.set(parent, [...(children.get(parent) ?? []), session]);
  }
  const rows: TeamRow[] = [];
  const add = (parent: string, depth: number, last: readonly boolean[]) => {
    const below = children.get(parent) ?? [];
    for (const [index, session] of below.entries()) {
      const path = depth === 0 ? [] : [...last, index === below.length - 1];
      const subagent = bySession.get(session.id) ?? null;
      rows.push({ session, subagent, depth, last: path, activity: activityOf(team, session) });
      add(session.id, depth + 1, path);
    }
  };
  add("", 0, []);
  return rows;
}

/**
 * The session that a person most likely wants to see: the one that waits longest for an answer, else the newest one that
 * no task, run or other session started.
 */
export function firstSession(team: Team): Card | null {
  const [asking] = needsYou(team);
  if (asking !== undefined && asking.session.state !== "closed") return asking.session;
  const workers = new Set(Object.values(team.tasks).map(({ worker }) => worker));
  const open = openSessions(team);
  return open.findLast(({ id, parent }) => parent === null && !workers.has(id)) ?? open.at(-1) ?? null;
}

/** Open sessions in order of their start, for tabs. */
export function openSessions(team: Team): Card[] {
  return Object.values(team.cards)
    .filter((session) => session.state !== "closed")
    .sort((a, b) => a.created_at - b.created_at);
}
