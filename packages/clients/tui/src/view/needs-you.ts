/** Every open ask, and the selected one in full: what would run, who asks, and why. */

import { age, plural, runningTime } from "@aegis/client/views/words.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import { headline } from "@aegis/contract/headline.ts";
import type { Sender } from "@aegis/contract/message.ts";
import type { OpenNeed } from "@aegis/contract/need.ts";
import { plain, plainLine } from "@aegis/lib/plain-text.ts";
import { boundBlock } from "../facts/blocks.ts";
import { askAction } from "../facts/needs-you.ts";
import { type ListRow, rowsOf, selectedRow } from "../rows.ts";
import type { ViewContext } from "./context.ts";
import { around, cell, cut, ends, fill } from "./layout.ts";
import { changeLines, wrap } from "./transcript.ts";

export function needsYouView(cx: ViewContext, width: number, height: number): string[] {
  const { theme } = cx;
  const rows = rowsOf("needs", cx.model, cx.ui);
  const head = `${theme.paint("title", "NEEDS YOU")}  ${rows.length}`;
  const selected = selectedRow(rows, cx.ui);
  if (selected === null) return fill([head, "", theme.paint("dim", "Nothing waits for you.")], height);
  const at = rows.indexOf(selected);
  const list = around(rows, at, Math.max(1, Math.min(rows.length, Math.floor(height / 3)))).shown;
  const above = [head, ...list.map((row) => askRow(cx, row, row === selected, width))];
  if (selected.kind === "need") return fill([...above, ...needDetail(cx, selected.need, width)], height);
  if (selected.kind !== "ask") return fill(above, height);
  return fill([...above, ...askDetail(cx, selected.open.ask, width, height - above.length)], height);
}

function askRow(cx: ViewContext, row: ListRow, isSelected: boolean, width: number): string {
  if (row.kind === "need") return needRow(cx, row.need, isSelected, width);
  if (row.kind !== "ask") return "";
  const { ask, session } = row.open;
  const kind = ask.tool ?? ask.kind;
  const line = `${cell(headline(session), Math.max(16, Math.floor(width / 3)))} · ${plainLine(session.agent)} · ${plainLine(kind)} · ${plainLine(askAction(ask))}`;
  const text = ends(`${isSelected ? "▸" : " "} ${line}`, age(cx.clock() - ask.created_at), width);
  return isSelected ? cx.theme.paint("bold", text) : text;
}

const needMarks = { failed: { glyph: "✗", role: "error" }, ready: { glyph: "✓", role: "ok" } } as const;

function needRow(cx: ViewContext, need: OpenNeed, isSelected: boolean, width: number): string {
  if (need.kind === "ask") return "";
  const { glyph, role } = needMarks[need.kind];
  const title = cell(headline(need), Math.max(16, Math.floor(width / 3)));
  const words = need.kind === "failed" ? plainLine(need.problem ?? "failed") : readyWords(need);
  const agent = need.agent === null ? "" : ` · ${plainLine(need.agent)}`;
  const line = `${isSelected ? "▸" : " "} ${cx.theme.paint(role, glyph)} ${title}${agent} · ${words}`;
  const text = ends(line, age(cx.clock() - need.since), width);
  return isSelected ? cx.theme.paint("bold", text) : text;
}

function readyWords({ changes, check, target }: OpenNeed): string {
  const size = changes === null ? [] : [`${plural(changes.files, "file")} +${changes.added} −${changes.deleted}`];
  const where = target === null ? "no branch to land on" : `lands on ${plainLine(target)}`;
  return [...size, check === null ? "unchecked" : `check ${check}`, where].join(" · ");
}

function needDetail({ theme }: ViewContext, need: OpenNeed, width: number): string[] {
  const name = need.kind === "failed" ? "FAILED" : "READY";
  const row = (label: string, text: string) =>
    wrap(text, Math.max(10, width - 10)).map(
      (line, index) => `${theme.paint("dim", (index === 0 ? label : "").padEnd(9))} ${line}`,
    );
  return [
    `${theme.paint("title", name)}  ${cell(headline(need), width - name.length - 2)}`,
    ...row("who", `${plainLine(need.handle)}${need.agent === null ? "" : `, agent ${plainLine(need.agent)}`}`),
    ...(need.kind === "failed" ? [] : row("work", readyWords(need))),
    ...(need.problem === null ? [] : row("problem", plain(boundBlock(need.problem)))),
    ...(need.closed
      ? row("session", "is closed; its work stays here until it is landed or its worktree is removed")
      : []),
  ];
}

/** All of it fits, or a row says how to see the rest: a person must not answer what they did not see. */
export function askDetail(cx: ViewContext, ask: Ask, width: number, height: number): string[] {
  const { theme } = cx;
  const body = askLines(cx, ask, width);
  const foot = footLines(ask).flatMap((line) => wrap(line, width).map((part) => theme.paint("dim", part)));
  const room = height - 1 - foot.length;
  const title = `${theme.paint("title", "ASK")}  ${cut(questionTitle(ask), width - 6)}`;
  const isWhole = body.length <= room;
  const shown = isWhole ? body : body.slice(0, room - 1);
  const rest = isWhole
    ? []
    : [theme.paint("wait", cut(`… ${body.length - shown.length} more lines · Enter shows everything`, width))];
  return [title, ...shown, ...rest, ...foot];
}

function questionTitle(ask: Ask): string {
  const who = plainLine(ask.origin?.handle ?? "");
  return ask.tool === null ? `${who} asks` : `${who} wants to use ${plainLine(ask.tool)}`;
}

/** The ask in full. */
export function askLines(cx: Pick<ViewContext, "theme" | "clock">, ask: Ask, width: number): string[] {
  const { theme } = cx;
  const row = (name: string, text: string) =>
    wrap(text, Math.max(10, width - 10)).map(
      (line, index) => `${theme.paint("dim", (index === 0 ? name : "").padEnd(9))} ${line}`,
    );
  const origin = ask.origin;
  const detail =
    typeof ask.detail === "object" && ask.detail !== null ? Object.entries(ask.detail) : [["detail", ask.detail]];
  return [
    ...row(ask.tool === null ? "question" : "says", plain(boundBlock(ask.question))),
    ...(ask.reason === null ? [] : row("why", plain(boundBlock(ask.reason)))),
    ...(origin === null
      ? []
      : row("who", `${plainLine(origin.handle)}, agent ${plainLine(origin.agent)} (${plainLine(origin.harness)})`)),
    ...(origin === null || origin.parents.length === 0
      ? []
      : row("works for", origin.parents.map(({ handle }) => plainLine(handle)).join(", "))),
    ...(origin === null || origin.senders.length === 0 ? [] : row("for", origin.senders.map(senderWords).join(", "))),
    ...detail.flatMap(([name, value]) =>
      value === null ||
      value === undefined ||
      (ask.changes.length > 0 && typeof value === "string" && value.length > 200)
        ? []
        : row(
            plainLine(String(name)).slice(0, 9),
            plain(boundBlock(typeof value === "string" ? value : JSON.stringify(value, null, 2))),
          ),
    ),
    ...ask.changes.flatMap((change) => [
      ...row("file", `${plainLine(change.path)}${change.note === null ? "" : ` (${plainLine(change.note)})`}`),
      ...changeLines(change, width - 2, theme).map((line) => `  ${line}`),
    ]),
    ...(ask.omitted > 0 ? [theme.paint("error", `Not complete: ${ask.omitted} characters were not stored.`)] : []),
    ...(ask.cwd === null ? [] : row("in", plainLine(ask.cwd))),
    ...(ask.expires_at === null ? [] : row("expires", `in ${runningTime(ask.expires_at - cx.clock())}`)),
  ];
}

function footLines({ options, tool, gate }: Ask): string[] {
  if (options.length === 0) return ["t answers with a text of your own."];
  if (tool === null) return options.map((option, index) => `${index + 1} ${plainLine(option)}`);
  const choices = options.map((option, index) => `${index + 1} ${plainLine(option)}`).join("   ");
  const scope = gate ? `every ${plainLine(tool)} call for this reason` : `every ${plainLine(tool)} call`;
  return options.includes("always") ? [choices, `always allows ${scope} in this session.`] : [choices];
}

function senderWords(sender: Sender): string {
  if (sender.kind === "human") return "you";
  if (sender.kind === "agent") return plainLine(sender.handle);
  return "name" in sender ? `${sender.kind} ${plainLine(sender.name)}` : sender.kind;
}
