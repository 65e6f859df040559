/** The team as a tree, or the messages between its members as lanes over time. */

import type { Hop } from "@aegis/client/model/flow.ts";
import { age, dollars, plural, timeOfDay } from "@aegis/client/views/words.ts";
import type { GroupView } from "@aegis/contract/group.ts";
import { headline } from "@aegis/contract/headline.ts";
import { plainLine } from "@aegis/lib/plain-text.ts";
import { visibleWidth } from "@earendil-works/pi-tui/dist/utils.js";
import { type TeamRow, teamTree } from "../facts/team.ts";
import { rowsOf, selectedRow } from "../rows.ts";
import type { ViewContext } from "./context.ts";
import { around, cell, column, cut, ends, fill } from "./layout.ts";
import { sessionMarks } from "./marks.ts";

export function teamView(cx: ViewContext, width: number, height: number): string[] {
  return cx.ui.teamView === "flow" ? flowView(cx, width, height) : treeView(cx, width, height);
}

function treeView(cx: ViewContext, width: number, height: number): string[] {
  const { theme, model } = cx;
  const rows = rowsOf("team", model, cx.ui);
  const kept = new Set(rows.map(({ key }) => key));
  const selected = selectedRow(rows, cx.ui);
  const team = teamTree(model.state).filter(({ session }) => kept.has(`session:${session.id}`));
  const subagents = team.filter(({ depth }) => depth > 0).length;
  const counts = [
    plural(team.length - subagents, "session"),
    ...(subagents === 0 ? [] : [plural(subagents, "subagent")]),
    ...(model.lists.groups.length === 0 ? [] : [plural(model.lists.groups.length, "group")]),
  ];
  const lines = [
    ...team.map((row) => ({ key: `session:${row.session.id}`, text: memberRow(cx, row, width - 2) })),
    ...model.lists.groups.map((group) => ({ key: `group:${group.id}`, text: groupRow(group, width - 2) })),
  ];
  const at = Math.max(
    0,
    lines.findIndex(({ key }) => key === selected?.key),
  );
  const { shown } = around(lines, at, height - 1);
  const head = `${theme.paint("title", "TEAM")}  ${counts.join(", ")}`;
  if (lines.length === 0) return fill([head, "", theme.paint("dim", "No session is open. s starts one.")], height);
  return fill(
    [
      cut(head, width),
      ...shown.map(({ key, text }) => (key === selected?.key ? theme.paint("bold", `▸ ${text}`) : `  ${text}`)),
    ],
    height,
  );
}

function memberRow(cx: ViewContext, { session, depth, last, activity }: TeamRow, width: number): string {
  const { theme } = cx;
  const { glyph, role } = sessionMarks[activity.state];
  const branch =
    depth === 0
      ? ""
      : `${last
          .slice(0, -1)
          .map((isLast) => (isLast ? "  " : "│ "))
          .join("")}${last.at(-1) ? "└ " : "├ "}`;
  const cost = session.usage?.cost ?? null;
  const isBusy = activity.state === "working" || activity.state === "asks";
  const time = activity.since === null ? "" : age((isBusy ? cx.clock() : cx.now) - activity.since);
  // A subagent is titled with its label.
  const name = column(`${branch}${headline(session)}`, Math.max(16, Math.floor(width / 3)));
  const agent = width < 60 ? "" : `${column(session.agent, 12)} `;
  const state = theme.paint(role, `${glyph} ${activity.state.padEnd(8)}`);
  const handle = width < 100 || session.title === "" ? [] : [plainLine(session.handle)];
  const right = [...handle, time, ...(cost === null ? [] : [dollars(cost)])].join(" ");
  return ends(`${name} ${agent}${state} ${plainLine(activity.words)}`, theme.paint("dim", right), width);
}

function groupRow(group: GroupView, width: number): string {
  const members = group.members.map(({ handle }) => plainLine(handle)).join(" ");
  const { broadcast } = group;
  const replied = broadcast?.members.filter(({ status }) => status !== "waiting").length ?? 0;
  const state = broadcast === null ? "" : ` · broadcast ${replied}/${broadcast.members.length} replied`;
  return cut(`group ${plainLine(group.name)}  ${members}${state}`, width);
}

/** The lanes of the newest hops, most recently used last dropped; the person comes first. */
export function lanesOf(hops: readonly Hop[], most: number): string[] {
  const used = new Set<string>();
  for (const hop of hops.toReversed()) {
    for (const name of [hop.from, hop.to]) if (used.size < most || used.has(name)) used.add(name);
  }
  const inOrder = new Set(hops.flatMap(({ from, to }) => [from, to]));
  const lanes = [...inOrder].filter((name) => used.has(name));
  return lanes.includes("you") ? ["you", ...lanes.filter((name) => name !== "you")] : lanes;
}

const timeWidth = 9;
const narrowestLane = 13;

function flowView(cx: ViewContext, width: number, height: number): string[] {
  const { theme, model } = cx;
  const rows = rowsOf("team", model, cx.ui);
  const hops = rows.flatMap((row) => (row.kind === "hop" ? [row.hop] : []));
  const head = `${theme.paint("title", "FLOW")}  who sent what to whom`;
  if (hops.length === 0)
    return fill([head, "", theme.paint("dim", "Nothing was sent since this screen was opened.")], height);
  const selected = selectedRow(rows, cx.ui);
  const key = selected?.kind === "hop" ? selected.hop.seq : -1;
  const at = Math.max(
    0,
    hops.findIndex(({ seq }) => seq === key),
  );
  const { shown } = around(hops, at, height - 2);
  const lanes = lanesOf(shown, Math.max(2, Math.floor((width - timeWidth - 2) / narrowestLane)));
  const lane = Math.floor((width - timeWidth - 2) / lanes.length);
  const names = lanes.map((name) => column(name, lane - 1)).join(" ");
  return fill(
    [
      cut(head, width),
      `  ${" ".repeat(timeWidth)}${theme.paint("bold", cut(names, width - timeWidth - 2))}`,
      ...shown.map((hop) => {
        const line = `${timeOfDay(hop.at)} ${hopLine(hop, lanes, lane)}`;
        return hop.seq === key ? theme.paint("bold", cut(`▸ ${line}`, width)) : cut(`  ${line}`, width);
      }),
    ],
    height,
  );
}

/** `│        ├─ handoff ──▶│`: an arrow from one lane to another. */
function hopLine(hop: Hop, lanes: readonly string[], width: number): string {
  const [from, to] = [lanes.indexOf(hop.from), lanes.indexOf(hop.to)];
  const cells = lanes.map((_, index) => `│${" ".repeat(width - 1)}`.split("").map((glyph) => ({ glyph, index })));
  const line = cells.flat().map(({ glyph }) => glyph);
  if (from === -1 || to === -1 || from === to) {
    const at = Math.max(from, to, 0) * width;
    const text = from === -1 ? `◀ ${hop.label} from ${plainLine(hop.from)}` : `▸ ${hop.label} to ${plainLine(hop.to)}`;
    return `${line.slice(0, at + 1).join("")} ${cell(text, (lanes.length - Math.max(from, to, 0)) * width - 2)}`;
  }
  const [left, right] = [Math.min(from, to) * width, Math.max(from, to) * width];
  for (let at = left + 1; at < right; at += 1) line[at] = "─";
  for (let at = left + width; at < right; at += width) line[at] = "┼";
  if (from < to) line[right - 1] = "▶";
  else line[left + 1] = "◀";
  line[left] = from < to ? "├" : "│";
  line[right] = from < to ? "│" : "┤";
  const label = ` ${cell(hop.label, Math.max(1, width - 6))} `;
  const start = from < to ? left + 2 : left + 3;
  const size = visibleWidth(label);
  if (size < right - left - 2) line.splice(start, size, ...label.split(""));
  return line.join("");
}
