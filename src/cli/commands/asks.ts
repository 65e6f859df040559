/** `aegis asks` and `aegis answer`: what agents wait for a person to say. */
import type { Client } from "../../client/client.ts";
import type { Ask } from "../../contract/ask.ts";
import { isId } from "../../contract/ids.ts";
import { answerAsk, choicesOf } from "../asks.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { CliError, usageError } from "../failure.ts";
import { type Cell, columns } from "../format/columns.ts";
import { createStyle } from "../format/style.ts";
import { oneLine } from "../format/text.ts";
import { relativeTime } from "../format/time.ts";
import { SessionNames } from "../session-names.ts";
import type { Terminal } from "../terminal.ts";

export async function asks(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const [open, known] = await Promise.all([
    client.call("listAsks"),
    client.call("listSessions", { query: { closed: true } }),
  ]);
  if (cx.json) {
    cx.printJson(open);
    return exitCodes.ok;
  }
  if (open.asks.length === 0) {
    cx.print("Nobody waits for an answer.");
    return exitCodes.ok;
  }
  const style = createStyle(cx.color);
  const names = new SessionNames(known.sessions);
  const now = Date.now();
  const header: Cell[] = ["ASK", "SESSION", "CHOICES", "LEFT", "QUESTION"].map((text) => ({ text, paint: style.dim }));
  const rows = open.asks.map((ask): Cell[] => [
    { text: ask.id },
    { text: names.label(ask.session), paint: style.cyan },
    { text: choicesOf(ask) },
    { text: relativeTime(ask.expires_at, now) },
    { text: ask.question },
  ]);
  for (const line of columns(header, rows, cx.columns)) cx.print(line);
  return exitCodes.ok;
}

export async function answer(cx: Terminal, args: { ask: string; answer: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const ask = await findAsk(client, args.ask);
  const settled = await answerAsk(client, ask, args.answer);
  if (cx.json) cx.printJson({ ask: settled });
  else cx.print(`answered: ${oneLine(ask.question)} → ${args.answer}`);
  return exitCodes.ok;
}

/** By id, or by a session that asks exactly one thing. */
async function findAsk(client: Client, reference: string): Promise<Ask> {
  if (isId("ask", reference)) return (await client.call("getAsk", { path: { ask: reference } })).ask;
  if (reference.startsWith("ask_")) throw usageError(`"${reference}" is not an ask's id`, "aegis asks lists them");
  const { session } = await client.call("getSession", { path: { session: reference } });
  const { asks: open } = await client.call("listAsks");
  const [first, ...more] = open.filter((ask) => ask.session === session.id);
  if (first === undefined) throw new CliError(exitCodes.failed, `${session.handle} asks nothing`);
  if (more.length > 0) throw usageError(`${session.handle} asks several things`, "name one of the ids in: aegis asks");
  return first;
}
