/** Landings as aligned columns. */
import { type LandingView, openLandings } from "../../contract/landing.ts";
import { type Cell, columns, heading, type TableOptions } from "./columns.ts";
import { createStyle } from "./style.ts";
import { relativeTime } from "./time.ts";

export function landingTable(landings: readonly LandingView[], options: TableOptions): string[] {
  const style = createStyle(options.color);
  const header = heading(style, ["LANDING", "STATE", "BRANCH", "WHEN", "COMMIT", "CHECK", "SESSION"]);
  const rows = landings.map((one): Cell[] => [
    { text: one.id },
    { text: landingState(one), paint: one.state === "landed" ? style.green : style.yellow },
    { text: one.target },
    { text: relativeTime(one.created_at, options.now) },
    { text: one.next?.slice(0, 12) ?? "-" },
    { text: one.receipt?.state ?? "unverified" },
    { text: one.session },
  ]);
  return columns(header, rows, options.width);
}

/** Open landings have the words of tasks: `waiting` alone would mean that the branch's checkout has to be clean. */
export function landingState({ state, queued_position: position }: LandingView): string {
  if (position !== null) return `pending (${position})`;
  return openLandings.includes(state) ? `running (${state})` : state;
}
