/** Determines whether a group with a requested name belongs to the run. */
import { isDeepStrictEqual } from "node:util";
import type { RunId } from "../../contract/ids.ts";
import { WorkflowError } from "../../plugin-api/errors.ts";
import type { StoreTx } from "../../store/store.ts";
import type { OwnSessions } from "./own-sessions.ts";
import { groupsOf, type SpawnedGroup } from "./run-sessions.ts";

export type Agents = string[] | { preset: string };

/**
 * Returns the group that the run had before it went back to a checkpoint, with exactly the same members. Returns null
 * if there is none and members must be started. Throws `WorkflowError` if the name belongs to another run: two runs of
 * one workflow use the same names, and one must not reach the members of the other.
 */
export async function groupOf(
  tx: StoreTx,
  { run, own }: { run: RunId; own: OwnSessions },
  name: string,
  agents: Agents,
): Promise<SpawnedGroup | null> {
  const live = await tx.groups.byName(name);
  if (live === null) return null;
  const open = new Set<string>();
  for (const id of await tx.groups.members(live.id)) if ((await tx.sessions.get(id))?.closed_at === null) open.add(id);
  const mine = (await groupsOf(tx, run)).filter((one) => one.group === name);
  const known = new Set<string>(mine.flatMap((one) => one.members.map(({ session }) => session)));
  if ([...open].some((id) => !known.has(id))) {
    throw new WorkflowError(
      `a group "${name}" exists already and is not this run's: choose a name of its own, such as one with engine.workflowId`,
    );
  }
  const before = mine.find(
    (one) =>
      isDeepStrictEqual(one.agents, agents) &&
      one.members.every(({ session }) => open.has(session) && !own.has(session)),
  );
  return before ?? null;
}
