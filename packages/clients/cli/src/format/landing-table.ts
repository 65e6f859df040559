/** Landings as aligned columns. */

import { headline } from "@aegis/contract/headline.ts";
import { type LandingView, openLandings } from "@aegis/contract/landing.ts";
import { type TableOptions, table } from "./columns.ts";
import { relativeTime } from "./time.ts";

export function landingTable(landings: readonly LandingView[], options: TableOptions): string[] {
  const { style } = options;
  const titles = [
    { text: "TITLE", flexible: true as const },
    ...["STATE", "BRANCH"],
    { text: "WHEN", spare: 1 },
    { text: "COMMIT", spare: 0 },
    { text: "CHECK", spare: 2 },
    "SESSION",
    // Commands take it, so it is never left out.
    "LANDING",
  ];
  return table(options, titles, landings, (one) => [
    { text: headline(one), paint: style.bold },
    { text: landingState(one), paint: one.state === "landed" ? style.green : style.yellow },
    one.target,
    relativeTime(one.created_at, options.now),
    one.next?.slice(0, 12) ?? "-",
    one.receipt?.state ?? "unverified",
    one.handle,
    { text: one.id, paint: style.dim },
  ]);
}

/** Open landings have the words of tasks: `waiting` alone would mean that the branch's checkout has to be clean. */
function landingState({ state, queued_position: position }: LandingView): string {
  if (position !== null) return `pending (${position})`;
  return openLandings.includes(state) ? `running (${state})` : state;
}
