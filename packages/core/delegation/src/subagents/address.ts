/** Finds the subagent that a caller names. A caller reaches only its own descendants. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { StoreReads, StoreTx, SubagentRow } from "@aegis/store/store.ts";

/** A subagent with its path below the caller: `build`, or `build/lint` for a child of `build`. */
export type PlacedSubagent = SubagentRow & { path: string };

/** All descendants of the caller, including archived ones. */
export async function placedBelow(from: StoreReads | StoreTx, caller: SessionId): Promise<PlacedSubagent[]> {
  const paths = new Map<SessionId, string>();
  return (await from.subagents.below(caller)).map((row) => {
    const above = paths.get(row.parent);
    const path = above === undefined ? row.label : `${above}/${row.label}`;
    paths.set(row.session, path);
    return { ...row, path };
  });
}

/** Finds by run id or label. If two have the same label, prefers a listed one, else the newest. */
export async function findBelow(
  from: StoreReads | StoreTx,
  caller: SessionId,
  reference: string,
): Promise<PlacedSubagent> {
  const all = await placedBelow(from, caller);
  const byId = all.find((row) => row.run_id === reference);
  if (byId) return byId;
  const named = all.filter((row) => row.path === reference);
  const found = named.find((row) => row.archived_at === null) ?? named.at(-1);
  if (found) return found;
  const listed = all.filter((row) => row.archived_at === null);
  const names = listed.flatMap((row) => [row.path, row.run_id]);
  const paths = listed.map((row) => row.path);
  throw new AegisError("not_found", `you have no subagent "${reference}"${didYouMean(reference, names)}`, {
    hint: paths.length === 0 ? "you have none; sessions_spawn starts one" : `yours: ${paths.join(", ")}`,
  });
}
