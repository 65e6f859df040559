/** `aegis history`: prints the past events of a session. `aegis tail`: prints new events. */
import type { Client } from "@aegis/client/client.ts";
import { followEvents } from "@aegis/client/events.ts";
import { senderName } from "@aegis/client/views/words.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { isId, type SessionId } from "@aegis/contract/ids.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { Turn } from "@aegis/contract/turn.ts";
import { unifiedDiff } from "@aegis/lib/unified-diff.ts";
import type { Connection } from "../../daemon/connection.ts";
import { endWords, eventLine, type LineOptions } from "../../format/event-line.ts";
import { SessionNames } from "../../format/session-names.ts";
import { oneLine, plainText } from "../../format/text.ts";
import { clockTime } from "../../format/time.ts";
import { usageWords } from "../../format/usage.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { printPaged } from "../../terminal/pager.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { untilStopped } from "../../terminal/until-stopped.ts";
import type { sessionCommands } from "./spec.ts";

const defaultLimit = 50;

export const history: Handler<typeof sessionCommands.history> = async (cx, args) => {
  const { client } = await cx.daemon();
  const { session } = await client.call("getSession", { path: { session: args.session } });
  if (args.turn !== undefined) return showTurn(cx, client, session, args.turn, args.full);
  // `--full` without a limit prints the whole history.
  const limit = args.limit ?? (args.full ? undefined : defaultLimit);
  const page = await readHistory(client, session.id, limit);
  if (cx.json) return cx.printJson({ session, ...page });
  const names = new SessionNames([session]);
  const shown = args.full ? await showWhole(cx, page.events, names) : showEvents(cx, page.events, names);
  const last = page.events.at(-1);
  if (last !== undefined) await client.call("markSeen", { path: { session: session.id }, body: { seq: last.seq } });
  if (shown === 0) cx.print(`${session.handle} has no history yet.`);
  else if (page.more) cx.warn(`older events are not shown; show more with -n ${(limit ?? defaultLimit) * 4}`);
  const used = usageWords(session.usage, session.context);
  if (used !== null) cx.warn(cx.style.dim(`used so far: ${used}`));
};

/** Prints the answer of one turn; with `full`, every event of the turn. */
async function showTurn(
  cx: Terminal,
  client: Client,
  session: SessionView,
  wanted: string,
  full: boolean,
): Promise<void> {
  const { number, turn } = await findTurn(client, session, wanted);
  if (full) {
    const { events } = await readHistory(client, session.id);
    const own = events.filter((event) => "turn" in event.data && event.data.turn === turn.id);
    if (cx.json) cx.printJson({ session, turn, events: own });
    else await showWhole(cx, own, new SessionNames([session]));
    return;
  }
  if (cx.json) return cx.printJson({ session, turn });
  const end = turn.reason === null ? "turn is running" : endWords(turn.reason, turn.error);
  if (turn.text !== "") cx.print(plainText(turn.text).replace(/\n$/, ""));
  const notes = [number === null ? turn.id : `turn ${number}`, end, usageWords(turn.usage)];
  const note = notes.filter((one) => one !== null).join(", ");
  cx.warn(cx.style.dim(turn.text === "" ? `${note}; it has no text` : note));
}

async function findTurn(
  client: Client,
  session: SessionView,
  wanted: string,
): Promise<{ number: number | null; turn: Turn }> {
  if (isId("trn", wanted)) {
    const { turn } = await client.call("getTurn", { path: { turn: wanted } });
    if (turn.session === session.id) return { number: null, turn };
    throw new AegisError("not_found", `the turn ${wanted} is not one of ${session.handle}`);
  }
  if (wanted === "last") {
    const { turns } = await client.call("listTurns", { path: { session: session.id }, query: { limit: 2 } });
    const turn = turns.find(({ ended_at }) => ended_at !== null) ?? turns[0];
    if (turn !== undefined) return { number: null, turn };
    throw new AegisError("not_found", `${session.handle} has no turn yet`);
  }
  const number = /^[1-9]\d*$/.test(wanted) ? Number(wanted) : null;
  if (number === null)
    throw usageError(`--turn ${oneLine(wanted)}: expected "last", a number that counts from 1, or a turn's id (trn_…)`);
  const { events } = await readHistory(client, session.id);
  const started = events.filter((event) => event.type === "turn.started");
  const found = started[number - 1];
  if (found === undefined)
    throw new AegisError("not_found", `${session.handle} has no turn ${number}`, {
      hint: started.length === 0 ? "it has no turn yet" : `it has the turns 1 to ${started.length}`,
    });
  const { turn } = await client.call("getTurn", { path: { turn: found.data.turn } });
  return { number, turn };
}

export const tail: Handler<typeof sessionCommands.tail> = async (cx, args) => {
  const connection = await cx.daemon();
  const id =
    args.session === undefined
      ? undefined
      : (await connection.client.call("getSession", { path: { session: args.session } })).session.id;
  await untilStopped(cx, (signal) => followLines(cx, connection, { session: id, after: args.after, signal }));
};

/** Prints one line per event until the signal aborts. */
export async function followLines(
  cx: Terminal,
  { client }: Connection,
  options: { session: SessionId | undefined; after: number | undefined; signal: AbortSignal },
): Promise<void> {
  const { sessions } = await client.call("listSessions", { query: { closed: true } });
  const names = new SessionNames(sessions);
  const onReconnect = (attempt: number) => {
    if (attempt === 1) cx.warn("aegis: lost the connection; reconnecting …");
  };
  for await (const item of followEvents(client, { ...options, onReconnect, reached: true })) {
    if (item.kind === "delta") continue;
    names.learn(item.event);
    cx.show(item.event, () => void showEvents(cx, [item.event], names));
  }
}

/** Shortens nothing; on a terminal the output is paged. */
async function showWhole(cx: Terminal, events: readonly Event[], names: SessionNames): Promise<number> {
  const style = cx.style;
  const parts = events.map((event) => fullLines(event, { style, names })).filter((lines) => lines !== null);
  await printPaged(cx, parts.flat());
  return parts.length;
}

function showEvents(cx: Terminal, events: readonly Event[], names: SessionNames): number {
  const style = cx.style;
  let shown = 0;
  for (const event of events) {
    const line = eventLine(event, { style, width: cx.columns, names });
    if (line === null) continue;
    cx.print(line);
    shown += 1;
  }
  return shown;
}

type Part = { head: string; body: string };

/** The event with all its content, for `history --full`. Truncates nothing. Null for events that are not shown. */
function fullLines(event: Event, options: Omit<LineOptions, "width">): string[] | null {
  const part = partOf(event);
  if (part === null) {
    const line = eventLine(event, { ...options, width: Number.POSITIVE_INFINITY });
    return line === null ? null : [line];
  }
  const { style, names } = options;
  const who = event.session === null ? "aegis" : names.label(event.session);
  const body = plainText(part.body).replace(/\n$/, "");
  return [
    `${style.dim(clockTime(event.at))}  ${style.cyan(who)}  ${style.dim(plainText(part.head))}`,
    ...(body === "" ? [] : body.split("\n").map((line) => (line === "" ? "" : `  ${line}`))),
  ];
}

/** Null for events that one line describes completely. */
function partOf(event: Event): Part | null {
  switch (event.type) {
    case "message.admitted":
      return { head: `← ${senderName(event.data.message)} (${event.data.message.id}):`, body: event.data.message.body };
    case "turn.text":
      return { head: "says:", body: event.data.text };
    case "turn.thinking":
      return { head: "thinking:", body: event.data.text };
    case "turn.tool_call": {
      const { name, title, input, diff } = event.data;
      const changed = diff === null ? [] : [diff.path, ...unifiedDiff(diff.before, diff.after)];
      const given = input === undefined ? [] : [typeof input === "string" ? input : JSON.stringify(input, null, 2)];
      return {
        head: `→ ${title === "" || title === name ? name : `${name}: ${title}`}`,
        body: [...given, ...changed].join("\n"),
      };
    }
    case "turn.tool_result": {
      const { output, is_error, diff } = event.data;
      const changed = diff === null ? [] : [diff.path, ...unifiedDiff(diff.before, diff.after)];
      return { head: is_error ? "← tool failed:" : "← result:", body: [output, ...changed].join("\n") };
    }
    case "receipt.recorded":
      return { head: receiptWords(event.data.receipt), body: event.data.receipt.tail };
    case "turn.compaction":
      return { head: "the conversation was summarised to fit the model's context:", body: event.data.summary };
    default:
      return null;
  }
}

/** Events may contain whole files, so the API's maximum page size could be very large. */
const pageSize = 200;

/** The newest events, oldest first; all of them without a limit. `more` says that older events exist. */
export async function readHistory(
  client: Client,
  session: SessionId,
  limit: number = Number.POSITIVE_INFINITY,
): Promise<{ events: Event[]; more: boolean }> {
  const pages: Event[][] = [];
  let count = 0;
  for (let before: number | undefined; ; ) {
    const { events, more } = await client.call("history", {
      path: { session },
      query: { limit: Math.min(pageSize, limit - count), ...(before === undefined ? {} : { before }) },
    });
    pages.unshift(events as Event[]);
    count += events.length;
    before = events[0]?.seq;
    if (!more || before === undefined || count >= limit) return { events: pages.flat(), more };
  }
}
