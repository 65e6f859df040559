/** `aegis history`: what was said in a session, and `aegis tail`: what happens from now on. */
import { followEvents } from "../../client/events.ts";
import type { Event } from "../../contract/event.ts";
import type { SessionId } from "../../contract/ids.ts";
import { type Connection, ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { eventLine } from "../format/event-line.ts";
import { createStyle } from "../format/style.ts";
import { SessionNames } from "../session-names.ts";
import type { Terminal } from "../terminal.ts";

export async function history(cx: Terminal, args: { session: string; limit: number | undefined }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const path = { session: args.session };
  const [{ session }, page] = await Promise.all([
    client.call("getSession", { path }),
    client.call("history", { path, query: { limit: args.limit ?? 50 } }),
  ]);
  if (cx.json) {
    cx.printJson({ session, ...page });
    return exitCodes.ok;
  }
  const shown = showEvents(cx, page.events as Event[], new SessionNames([session]));
  const last = page.events.at(-1);
  if (last !== undefined) await client.call("markSeen", { path, body: { seq: last.seq } });
  if (shown === 0) cx.print(`${session.handle} has no history yet.`);
  else if (page.more) cx.warn(`older events are left out; show more with -n ${(args.limit ?? 50) * 4}`);
  return exitCodes.ok;
}

export type TailArgs = { session: string | undefined; after: number | undefined };

export async function tail(cx: Terminal, args: TailArgs): Promise<number> {
  const connection = await ensureDaemon(cx);
  const id =
    args.session === undefined
      ? undefined
      : (await connection.client.call("getSession", { path: { session: args.session } })).session.id;
  const stopped = new AbortController();
  const undo = cx.onStop(() => stopped.abort());
  try {
    await followLines(cx, connection, { session: id, after: args.after, signal: stopped.signal });
    return exitCodes.ok;
  } finally {
    undo();
  }
}

/** Prints events, one line each, until the signal aborts. */
export async function followLines(
  cx: Terminal,
  { client }: Connection,
  options: { session: SessionId | undefined; after: number | undefined; signal: AbortSignal },
): Promise<void> {
  const { sessions } = await client.call("listSessions", { query: { closed: true } });
  const names = new SessionNames(sessions);
  const onReconnect = (attempt: number) => {
    if (attempt === 1) cx.warn("aegis: the connection broke; trying again …");
  };
  for await (const item of followEvents(client, { ...options, onReconnect })) {
    if (item.kind === "delta") continue;
    names.learn(item.event);
    if (cx.json) cx.printJson(item.event);
    else showEvents(cx, [item.event], names);
  }
}

function showEvents(cx: Terminal, events: readonly Event[], names: SessionNames): number {
  const style = createStyle(cx.color);
  let shown = 0;
  for (const event of events) {
    const line = eventLine(event, { style, width: cx.columns, names });
    if (line === null) continue;
    cx.print(line);
    shown += 1;
  }
  return shown;
}
