/** `aegis chat`: on a terminal the terminal app with this session; elsewhere a chat that is printed line by line. */
import type { Client } from "@aegis/client/client.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { lines } from "@aegis/lib/jsonl.ts";
import { Chat, complain, resolveSession } from "../../chat/chat.ts";
import { handleLine, isForThisTurn } from "../../chat/slash.ts";
import type { Connection } from "../../daemon/connection.ts";
import { tellAttention } from "../../format/attention.ts";
import { sessionLabel } from "../../format/session-names.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import type { sessionCommands } from "./spec.ts";

export type ChatArgs = { session: string | undefined; agent: string | undefined };

export const chat: Handler<typeof sessionCommands.chat> = async (cx, args) => {
  if (cx.json) throw usageError("chat has no --json output", "for scripts: aegis run --json, aegis send --wait --json");
  if (args.session !== undefined && args.agent !== undefined) {
    throw usageError("an existing session already has an agent", "give either a session or --agent");
  }
  return chatWith(cx, await cx.daemon(), args);
};

export async function chatWith(cx: Terminal, connection: Connection, args: ChatArgs): Promise<number> {
  const { client } = connection;
  tellAttention(cx, await client.call("status"));
  const session = await openSession(client, args);
  let code: number = exitCodes.ok;
  let last = session;
  if (cx.editable) code = await (await import("./app.ts")).runApp(cx, connection, session.id);
  else last = await printed(cx, client, session);
  await leave(cx, client, { last, own: args.session === undefined ? session : null });
  return code;
}

function openSession(client: Client, args: ChatArgs): Promise<SessionView> {
  if (args.session !== undefined) return resolveSession(client, args.session);
  const body = args.agent === undefined ? {} : { agent: args.agent };
  return client.call("createSession", { body }).then((answer) => answer.session);
}

/** Writes answers to stdout and everything else to stderr. Returns the session that the chat ended with. */
async function printed(cx: Terminal, client: Client, session: SessionView): Promise<SessionView> {
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 } });
  const known = (await client.call("listSessions", { query: { closed: true } })).sessions;
  const { asks } = await client.call("listAsks");
  const following = new AbortController();
  const conversation = new Chat(
    {
      client,
      out: { text: cx.write, aside: cx.warn },
      style: cx.style,
      env: cx.env,
      width: () => cx.columns,
      rows: cx.interactive ? () => cx.rows : null,
    },
    session,
    known,
  );
  if (cx.interactive)
    cx.warn(cx.style.dim(`Chatting with ${sessionLabel(session)}, agent ${session.agent}. /help lists commands.`));
  for (const ask of asks) conversation.asks.opened(ask, session.id);
  const followed = conversation.follow(after, following.signal).catch((error: unknown) => {
    conversation.abandon();
    complain(conversation, error);
  });
  await answerLines(cx, conversation);
  following.abort();
  await followed;
  return conversation.session;
}

/** Each line waits for the answer to the line before, except lines that apply to that same turn. */
async function answerLines(cx: Terminal, conversation: Chat): Promise<void> {
  const waiting: string[] = [];
  let ended = false;
  let wake = () => {};
  const read = (async () => {
    for await (const line of lines(cx.stdin as AsyncIterable<Uint8Array>)) {
      if (isForThisTurn(line)) {
        await handleLine(conversation, line).catch((error: unknown) => complain(conversation, error));
      } else waiting.push(line);
      wake();
    }
  })().finally(() => {
    ended = true;
    wake();
  });
  const undo = cx.onStop(() => cx.leave(exitCodes.interrupted));
  try {
    while (waiting.length > 0 || !ended) {
      const line = waiting.shift();
      if (line === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      try {
        if ((await handleLine(conversation, line)) === "leave") return;
        await conversation.answered();
      } catch (error) {
        complain(conversation, error);
      }
    }
    await read;
  } finally {
    undo();
  }
}

/** Closes a session that was created for this chat and never used. */
async function leave(
  cx: Terminal,
  client: Client,
  { last, own }: { last: SessionView; own: SessionView | null },
): Promise<void> {
  try {
    if (own !== null && !(await isUsed(client, own))) await client.call("closeSession", { path: { session: own.id } });
    if (!cx.interactive) return;
    const { handle, state } = await resolveSession(client, last.id);
    if (state !== "closed") cx.warn(cx.style.dim(`${handle} stays open; continue with: aegis chat ${handle}`));
  } catch {
    // The daemon is gone. It keeps the session.
  }
}

/** A session that received no message has events of its own start only. */
async function isUsed(client: Client, { id }: SessionView): Promise<boolean> {
  const { events } = await client.call("history", { path: { session: id }, query: { limit: 20 } });
  return events.some(({ type }) => type.startsWith("message.") || type.startsWith("turn."));
}
