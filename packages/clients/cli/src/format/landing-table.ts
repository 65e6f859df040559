/** Landings as aligned columns. */
import { type LandingView, openLandings } from "@aegis/contract/landing.ts";
import { type TableOptions, table } from "./columns.ts";
import { relativeTime } from "./time.ts";

export function landingTable(landings: readonly LandingView[], options: TableOptions): string[] {
  const { style } = options;
  return table(options, ["LANDING", "STATE", "BRANCH", "WHEN", "COMMIT", "CHECK", "SESSION"], landings, (one) => [
    one.id,
    { text: landingState(one), paint: one.state === "landed" ? style.green : style.yellow },
    one.target,
    relativeTime(one.created_at, options.now),
    one.next?.slice(0, 12) ?? "-",
    one.receipt?.state ?? "unverified",
    one.session,
  ]);
}

/** Open landings have the words of tasks: `waiting` alone would mean that the branch's checkout has to be clean. */
function landingState({ state, queued_position: position }: LandingView): string {
  if (position !== null) return `pending (${position})`;
  return openLandings.includes(state) ? `running (${state})` : state;
}
