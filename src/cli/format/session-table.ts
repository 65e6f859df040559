/** Sessions as aligned columns. */
import type { SessionView } from "../../contract/session.ts";
import { type Cell, columns } from "./columns.ts";
import { createStyle, type Style } from "./style.ts";
import { relativeTime } from "./time.ts";

export function sessionTable(
  sessions: readonly SessionView[],
  options: { color: boolean; width: number; now: number },
): string[] {
  const style = createStyle(options.color);
  const header: Cell[] = ["SESSION", "AGENT", "STATE", "WAITING", "UNREAD", "STARTED", "TITLE"].map((text) => ({
    text,
    paint: style.dim,
  }));
  const rows = sessions.map((session): Cell[] => [
    { text: session.handle, paint: style.cyan },
    { text: session.offline ? `${session.agent} (offline)` : session.agent },
    { text: session.state, paint: statePaint(session, style) },
    { text: session.pending === 0 ? "-" : String(session.pending) },
    { text: session.unseen === 0 ? "-" : String(session.unseen) },
    { text: relativeTime(session.created_at, options.now) },
    { text: session.error ?? session.title },
  ]);
  return columns(header, rows, options.width);
}

function statePaint(session: SessionView, style: Style): (text: string) => string {
  if (session.state === "working") return style.green;
  if (session.state === "error") return style.red;
  return session.state === "closed" ? style.dim : (text) => text;
}
