/** The whole screen: exactly as many rows as the terminal has, none wider than it. */
import type { Ask } from "@aegis/contract/ask.ts";
import { withDialog } from "../dialogs.ts";
import { withoutImages } from "../pictures.ts";
import { toAscii } from "../theme.ts";
import { aboutOffline, adviceRows } from "./advice.ts";
import { agentsView } from "./agents.ts";
import type { ViewContext } from "./context.ts";
import { dashboardView } from "./dashboard.ts";
import { type Hint, hintRows, tabRow } from "./frame.ts";
import { cut, fill, type Size } from "./layout.ts";
import { needsYouView } from "./needs-you.ts";
import { type SessionParts, sessionView } from "./session.ts";
import { teamView } from "./team.ts";

export type ScreenParts = {
  readonly size: Size;
  readonly hints: readonly Hint[];
  /** For the session screen; null if no session is open. */
  readonly session: SessionParts | null;
  readonly editor: readonly string[];
};

export type DrawnScreen = {
  readonly rows: readonly string[];
  /** The height of the conversation; 0 on other screens. */
  readonly room: number;
  /** The ask in the conversation; null if none is shown. */
  readonly ask: Ask | null;
};

const smallest: Size = { columns: 20, rows: 6 };

export function drawScreen(cx: ViewContext, parts: ScreenParts): DrawnScreen {
  const { columns, rows: height } = parts.size;
  if (isTooSmall(parts.size)) return { rows: fill([cut("too small", columns)], height), room: 0, ask: null };
  const last = hintRows(cx, parts.hints, parts.size);
  const bodyHeight = height - 1 - last.length;
  const { rows: body, room, ask } = bodyRows(cx, parts, columns, bodyHeight);
  const rows = [tabRow(cx, columns), ...fill(body, bodyHeight), ...last];
  const shown = cx.ui.dialog === null ? rows : withDialog(withoutImages(rows), cx.ui.dialog, cx.theme, columns);
  return { rows: cx.theme.ascii ? shown.map(toAscii) : shown, room, ask: cx.ui.dialog === null ? ask : null };
}

export function isTooSmall({ columns, rows }: Size): boolean {
  return columns < smallest.columns || rows < smallest.rows;
}

function bodyRows(cx: ViewContext, parts: ScreenParts, width: number, height: number): DrawnScreen {
  switch (cx.ui.screen) {
    case "session":
      if (parts.session !== null) return sessionView(cx, parts.session, width, height);
      return { rows: noSession(cx, parts.editor, width, height), room: 0, ask: null };
    case "dashboard":
      return { rows: dashboardView(cx, width, height), room: 0, ask: null };
    case "needs":
      return { rows: needsYouView(cx, width, height), room: 0, ask: null };
    case "team":
      return { rows: teamView(cx, width, height), room: 0, ask: null };
    case "agents":
      return { rows: agentsView(cx, width, height), room: 0, ask: null };
  }
}

function noSession({ model, theme }: ViewContext, editor: readonly string[], width: number, height: number): string[] {
  const status = model.lists.status;
  const lines = ["", "No session is open. Type a message and press Enter to start one."];
  if (status !== null) lines.push(`The default agent is ${status.default_agent}, because ${status.agent_choice}.`);
  if (status?.offline) lines.push("", ...aboutOffline);
  const untrusted = status?.untrusted ?? [];
  if (untrusted.length > 0) lines.push("", `Without effect: ${untrusted.join(", ")}. Run: aegis trust`);
  const text = adviceRows(theme, lines, width);
  return [...fill(text, Math.max(0, height - editor.length)), ...editor];
}
