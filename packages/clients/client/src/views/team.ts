/** The open sessions as a tree: subagents below their parents. */
import type { Subagent } from "@aegis/contract/subagent.ts";
import type { SessionState, State } from "../state.ts";
import { type Activity, activityOf } from "./activity.ts";

export type TeamRow = {
  readonly session: SessionState;
  /** Null for a session that is not a subagent, or whose start the client did not see. */
  readonly subagent: Subagent | null;
  readonly depth: number;
  /** For each level below the root: whether it is the last of its siblings. */
  readonly last: readonly boolean[];
  readonly activity: Activity;
};

/** Sessions in order of their start; those of a parent follow it. */
export function teamTree(state: State): TeamRow[] {
  const bySession = new Map(Object.values(state.subagents).map((one) => [one.session, one]));
  const shown = Object.values(state.sessions)
    .filter((session) => session.state !== "closed")
    .sort((a, b) => a.created_at - b.created_at);
  const known = new Set(shown.map(({ id }) => id));
  const children = new Map<string, SessionState[]>();
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
      rows.push({ session, subagent, depth, last: path, activity: activityOf(session) });
      add(session.id, depth + 1, path);
    }
  };
  add("", 0, []);
  return rows;
}

/** The session that a person most likely wants to see: the newest one that no task, run or other session started. */
export function newestSession(state: State): SessionState | null {
  const workers = new Set(Object.values(state.tasks).map(({ worker }) => worker));
  const open = openSessions(state);
  return open.findLast(({ id, parent }) => parent === null && !workers.has(id)) ?? open.at(-1) ?? null;
}

/** Open sessions in order of their start, for tabs. */
export function openSessions(state: State): SessionState[] {
  return Object.values(state.sessions)
    .filter((session) => session.state !== "closed")
    .sort((a, b) => a.created_at - b.created_at);
}
