/** The first and the last row of every screen: tabs with the number of asks, and the keys with the connection. */

import { headline } from "@aegis/contract/headline.ts";
import { plainLine } from "@aegis/lib/plain-text.ts";
import { visibleWidth } from "@earendil-works/pi-tui/dist/utils.js";
import { activityOf } from "../facts/activity.ts";
import { needCount } from "../facts/needs-you.ts";
import { openSessions } from "../facts/team.ts";
import type { ViewContext } from "./context.ts";
import { cell, ends, type Size } from "./layout.ts";
import { sessionMarks } from "./marks.ts";
import { wrap } from "./transcript.ts";

export type Hint = { readonly keys: string; readonly title: string };

export function tabRow({ model, ui, theme }: ViewContext, width: number): string {
  const sessions = openSessions(model.state);
  const waiting = needCount(model);
  const right = waiting === 0 ? "" : theme.paint("wait", `? ${waiting} need${waiting === 1 ? "s" : ""} you `);
  const room = width - visibleWidth(right) - 2;
  const tabs = sessions.map((session, index) => {
    const { glyph, role } = sessionMarks[activityOf(model.state, session).state];
    const isOpen = ui.screen === "session" && session.id === ui.session;
    const name = `${index + 1} ${cell(headline(session), longestTab)}`;
    const text = isOpen ? theme.paint("selected", ` ${name} ${glyph} `) : ` ${name} ${theme.paint(role, glyph)} `;
    return { text, width: visibleWidth(name) + 4, isOpen };
  });
  if (tabs.length === 0) return ends(theme.paint("bold", " aegis"), right, width);
  // The open tab stays in view.
  const open = tabs.findIndex(({ isOpen }) => isOpen);
  let from = 0;
  const widthOf = (first: number, last: number) => tabs.slice(first, last + 1).reduce((sum, tab) => sum + tab.width, 0);
  while (open > from && widthOf(from, open) > room - 8) from += 1;
  let shown = "";
  let used = 0;
  let index = from;
  for (; index < tabs.length; index += 1) {
    const tab = tabs[index];
    if (tab === undefined || (used + tab.width > room - 5 && used > 0)) break;
    shown += tab.text;
    used += tab.width;
  }
  const more = tabs.length - (index - from);
  return ends(`${shown}${more > 0 ? theme.paint("dim", ` +${more}`) : ""}`, right, width);
}

/** A title is longer than a handle; the header of the screen shows more of it. */
const longestTab = 18;

const connections = {
  live: { text: "● live", role: "ok" },
  connecting: { text: "○ connecting", role: "dim" },
  away: { text: "○ daemon away", role: "error" },
} as const;

/** What is wrong and what to do about it do not fit into one row of a narrow terminal. */
const mostFlashRows = 3;
const mostFlashLength = 1_000;

/**
 * The last row, or several for a long text. Hints are dropped from the right, each as a whole; the last one always
 * stays.
 */
export function hintRows(cx: ViewContext, hints: readonly Hint[], { columns: width, rows: height }: Size): string[] {
  const { model, ui, theme } = cx;
  const { text, role } = connections[model.connection];
  const filter = ui.screen === "session" || ui.filter === "" ? "" : `/${cell(ui.filter, 20)}  `;
  const right = `${theme.paint("wait", filter)}${theme.paint(role, text)}`;
  if (ui.flash !== null) {
    const role = ui.flash.level === "error" ? "error" : "wait";
    const text = plainLine(ui.flash.text.slice(0, mostFlashLength));
    const room = Math.max(1, width - visibleWidth(right) - 1);
    const most = Math.max(1, Math.min(mostFlashRows, Math.floor(height / 6)));
    const lines = wrap(text, room);
    const shown = lines.length <= most ? lines : [...lines.slice(0, most - 1), lines.slice(most - 1).join(" ")];
    return shown.map((line, index) => ends(theme.paint(role, line), index === shown.length - 1 ? right : "", width));
  }
  const room = width - visibleWidth(filter) - visibleWidth(text) - 2;
  const last = hints.at(-1);
  let used = last === undefined ? 0 : hintWidth(last);
  const shown: Hint[] = [];
  for (const hint of hints.slice(0, -1)) {
    if (used + hintWidth(hint) > room) continue;
    used += hintWidth(hint);
    shown.push(hint);
  }
  if (last !== undefined) shown.push(last);
  const words = shown.map(({ keys, title }) => `${theme.paint("bold", keys)} ${theme.paint("dim", title)}`);
  return [ends(words.join("  "), right, width)];
}

function hintWidth({ keys, title }: Hint): number {
  return visibleWidth(keys) + visibleWidth(title) + 3;
}
