/** The session screen: a header, the conversation, waiting messages, and the editor below. */

import { asksOf, type Card } from "@aegis/client/model/board.ts";
import { dollars, runningTime } from "@aegis/client/views/words.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import { headline } from "@aegis/contract/headline.ts";
import { plainLine } from "@aegis/lib/plain-text.ts";
import { activityOf } from "../facts/activity.ts";
import type { Item } from "../items.ts";
import { cropImages } from "../pictures.ts";
import type { ListWindow } from "../window.ts";
import { aboutOffline, adviceRows } from "./advice.ts";
import type { ViewContext } from "./context.ts";
import { cell, cut, ends, fill } from "./layout.ts";
import { sessionMarks } from "./marks.ts";
import { askDetail } from "./needs-you.ts";

export type SessionParts = {
  session: Card;
  items: readonly Item[];
  window: ListWindow<Item>;
  /** The rows of the editor. */
  editor: readonly string[];
};

const mostWaiting = 4;
/** Rows of the conversation that stay above an ask. */
const leastAbove = 2;
/** An ask with fewer rows would show nothing of what it asks. */
const leastAsk = 5;

/** The body of the screen. Also returns the size of the conversation, for scrolling, and the ask in it. */
export function sessionView(cx: ViewContext, parts: SessionParts, width: number, height: number) {
  const { session, items, window, editor } = parts;
  const head = headerRow(cx, session, width);
  const waiting = waitingRows(cx, session, width);
  const editorRows = editor.slice(0, Math.max(1, height - 3));
  const rest = Math.max(0, height - 1 - waiting.length - editorRows.length);
  const asked = askRows(cx, session, width, rest - leastAbove);
  const room = rest - asked.rows.length;
  const text = items.length === 0 ? emptyRows(cx, session, width) : window.render(items, width, room);
  const body = cropImages(fill(text, room));
  if (!window.following && room > 1)
    body[room - 1] = cx.theme.paint("wait", cut(`↓ more below · ${cx.keyOf("scroll.end")} goes to the end`, width));
  return { rows: [head, ...body, ...asked.rows, ...waiting, ...editorRows], room, ask: asked.ask };
}

/** The oldest open ask of the session, whole where it fits, with the keys that answer it. */
function askRows(cx: ViewContext, session: Card, width: number, most: number): { rows: string[]; ask: Ask | null } {
  const { theme, model } = cx;
  const open = asksOf(model.state, session.id);
  const [ask] = open;
  if (ask === undefined) return { rows: [], ask: null };
  const count = open.length === 1 ? "" : ` 1 of ${open.length}`;
  const rule = `── needs you${count} `;
  const head = theme.paint("wait", cut(rule + "─".repeat(Math.max(0, width - rule.length)), width));
  if (most < leastAsk) {
    const where = `${plainLine(ask.question)} · ${cx.keyOf("screen.needs")} answers it`;
    return { rows: [theme.paint("wait", cut(where, width))].slice(0, Math.max(0, most + leastAbove)), ask: null };
  }
  return { rows: [head, ...askDetail(cx, ask, width, most - 1)], ask };
}

function headerRow(cx: ViewContext, session: Card, width: number): string {
  const { theme } = cx;
  const activity = activityOf(cx.model.state, session);
  const { glyph, role } = sessionMarks[activity.state];
  const isBusy = activity.state === "working" || activity.state === "asks";
  const time = isBusy && activity.since !== null ? ` · ${runningTime(cx.clock() - activity.since)}` : "";
  const words = activity.words === "" ? "" : `: ${cell(activity.words, Math.max(10, Math.floor(width / 4)))}`;
  const context = contextWords(session);
  const cost = session.usage?.cost ?? null;
  const model = width >= 100 ? ` · ${plainLine([session.harness, session.model].filter(Boolean).join(" "))}` : "";
  const right = [...(context === null ? [] : [`ctx ${context}`]), ...(cost === null ? [] : [dollars(cost)])].join(
    " · ",
  );
  const isNamed = session.title === "" || width < 100;
  const handle = isNamed ? "" : ` · ${theme.paint("dim", plainLine(session.handle))}`;
  const name = theme.paint("bold", cell(headline(session), Math.max(16, Math.floor(width / 4))));
  const state = theme.paint(role, `${glyph} ${activity.state}${words}`);
  return ends(
    `${name} · ${plainLine(session.agent)}${model}${handle} · ${state}${time}`,
    theme.paint("dim", right),
    width,
  );
}

/** `41 %` of a known context, or the number of tokens; null if the harness never reported it. */
function contextWords({ context }: Card): string | null {
  if (context === null) return null;
  if (context.size !== null && context.size > 0) return `${Math.round((100 * context.used) / context.size)} %`;
  return context.used < 1000 ? String(context.used) : `${Math.round(context.used / 1000)}k`;
}

function waitingRows(cx: ViewContext, session: Card, width: number): string[] {
  const { model, theme } = cx;
  const transcript = model.conversations[session.id]?.transcript;
  const pending = (transcript?.waiting() ?? []).map(({ body }) => ({ text: body, note: "" }));
  const unsent = model.outbox
    .filter((one) => one.session === session.id && transcript?.message(one.id) === undefined)
    .map(({ text }) => ({ text, note: model.connection === "live" ? "sending" : "waits for the daemon" }));
  const all = [...pending, ...unsent];
  if (all.length === 0) return [];
  const shown = all.slice(0, mostWaiting);
  const rule = `── waiting ${all.length} `;
  return [
    theme.paint("dim", rule + "─".repeat(Math.max(0, width - rule.length))),
    ...shown.map(({ text, note }, index) => {
      const isLast = index === shown.length - 1 && pending.length > 0;
      return ends(
        `${index + 1} ${plainLine(text)}`,
        theme.paint("dim", note || (isLast ? `${cx.keyOf("message.take_back")} take back` : "")),
        width,
      );
    }),
  ];
}

function emptyRows({ model, theme }: ViewContext, session: Card, width: number): string[] {
  const lines = ["", `A new conversation with the agent ${plainLine(session.agent)}. Type a message and press Enter.`];
  if (session.offline) lines.push("", ...aboutOffline);
  const problems = model.lists.status?.config_problems ?? [];
  return [
    ...adviceRows(theme, lines, width),
    ...problems.map((problem) => theme.paint("wait", cell(`Problem: ${problem}`, width))),
  ];
}
