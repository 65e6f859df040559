/** `aegis asks`, `aegis ask show` and `aegis answer`: show and answer the asks that wait for a person. */
import type { Ask } from "@aegis/contract/ask.ts";
import { ensureProjectDaemon, noProject } from "../../daemon/connection.ts";
import {
  actionLine,
  actionLines,
  askEnd,
  askLines,
  isWholeLine,
  questionLines,
  shortAskId,
} from "../../format/ask-view.ts";
import { table } from "../../format/columns.ts";
import { SessionNames } from "../../format/session-names.ts";
import type { Style } from "../../format/style.ts";
import { relativeTime } from "../../format/time.ts";
import { fitLine } from "../../format/visible.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { confirm } from "../../terminal/confirm.ts";
import { exitCodes } from "../../terminal/context.ts";
import { printPaged } from "../../terminal/pager.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { answerAsk, choicesOf, echoLines, findAsk, isReference, letsHappen, onlyAsk } from "./find-ask.ts";
import type { askCommands } from "./spec.ts";

/** The most lines shown per ask in the list. */
const mostLines = 12;

export const asks: Handler<typeof askCommands.asks> = async (cx, args) => {
  const connection = await ensureProjectDaemon(cx);
  if (connection === null) return cx.show({ asks: [] }, noProject);
  const { client } = connection;
  const [found, known] = await Promise.all([
    client.call("listAsks", { query: { status: args.all ? "all" : "open" } }),
    client.call("listSessions", { query: { closed: true } }),
  ]);
  const none = args.all ? "No ask has been opened yet." : "No ask is open.";
  if (cx.json || found.asks.length === 0) return cx.show(found, none);
  const { style } = cx;
  const names = new SessionNames(known.sessions);
  const now = Date.now();
  const titles = ["ASK", "SESSION", args.all ? "STATE" : "CHOICES", args.all ? "ASKED" : "LEFT", "ACTION"];
  const isCut = new Set<Ask>();
  const fitted = (ask: Ask) => (text: string, width: number) => {
    const line = fitLine(text, width, args.all ? `aegis ask show ${shortAskId(ask.id)}` : "below");
    if (line !== text) isCut.add(ask);
    return line;
  };
  const [top = "", ...lines] = table(cx, titles, found.asks, (ask) => [
    shortAskId(ask.id),
    { text: names.label(ask.session), paint: style.cyan },
    args.all ? askEnd(ask) : choicesOf(ask),
    args.all ? relativeTime(ask.created_at, now) : leftOf(ask, now),
    { text: actionLine(ask), shorten: fitted(ask) },
  ]);
  cx.print(top);
  for (const [index, ask] of found.asks.entries()) {
    cx.print(lines[index] ?? "");
    if (!args.all && (isCut.has(ask) || !isWholeLine(ask))) cx.tell(excerpt(ask, style));
  }
  if (!args.all) cx.warn(style.dim("aegis ask show <ask> shows it in full; aegis answer <ask> <choice> answers it"));
};

/** The action below its row. A long action is shortened, with a count of the hidden lines. */
function excerpt(ask: Ask, style: Style): string[] {
  const lines = ask.tool === null ? questionLines(ask, "  ", style) : actionLines(ask, style);
  if (lines.length <= mostLines) return lines;
  const rest = lines.length - (mostLines - 1);
  return [
    ...lines.slice(0, mostLines - 1),
    style.yellow(`    … ${rest} more lines: aegis ask show ${shortAskId(ask.id)}`),
  ];
}

export const show: Handler<typeof askCommands.show> = async (cx, args) => {
  const { client } = await cx.daemon();
  const ask = await findAsk(client, args.ask, "all");
  if (cx.json) cx.printJson({ ask });
  else await printPaged(cx, viewOf(cx, ask));
};

/**
 * An answer without an ask id does not identify an action. So the ask is shown first and a person at a terminal must
 * confirm.
 */
export const answer: Handler<typeof askCommands.answer> = async (cx, args) => {
  const words = [...(args.ask === undefined ? [] : [args.ask]), ...args.answer];
  const [first = "", ...rest] = words;
  if (first === "") throw usageError("which answer?", "aegis answer <ask> <choice>");
  const { client } = await cx.daemon();
  const [{ asks: open }, { sessions }] = await Promise.all([
    client.call("listAsks", { query: { limit: 1000 } }),
    client.call("listSessions", {}),
  ]);
  const handles = sessions.map(({ handle }) => handle);
  const named = isReference(first, open, handles);
  if (named && rest.length === 0) throw usageError("which answer?", `aegis answer ${first} <choice>`);
  const ask = named ? await findAsk(client, first) : await onlyAsk(client);
  const text = (named ? rest : words).join(" ");
  const isBound = named && ask.id.endsWith(first);
  if (!isBound && cx.interactive && letsHappen(ask, text)) {
    const isSeen = await printPaged(cx, viewOf(cx, ask));
    if (!isSeen || !(await confirm(cx, `Answer with "${text}"?`))) {
      cx.warn("nothing was answered");
      return exitCodes.failed;
    }
  }
  const digest = args.digest ?? ask.digest;
  const settled = await answerAsk(client, { ...ask, digest }, text, "aegis answer");
  cx.show({ ask: settled }, () => echoLines(ask, text, cx.style));
};

function viewOf(cx: Terminal, ask: Ask): string[] {
  const style = cx.style;
  const who = ask.origin === null ? "" : `${ask.origin.handle} `;
  return [...questionLines(ask, who, style), ...askLines(ask, { style, now: Date.now() })];
}

function leftOf(ask: Ask, now: number): string {
  return ask.expires_at === null ? "the turn" : relativeTime(ask.expires_at, now);
}
