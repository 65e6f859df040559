/** `aegis chat`: a chat with a session on a terminal, or line by line through a pipe. */
import { createInterface } from "node:readline";
import type { Client } from "@aegis/client/client.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { lines } from "@aegis/lib/jsonl.ts";
import { Chat, complain, resolveSession } from "../../chat/chat.ts";
import { plainScreen, ReadlineScreen, type Screen } from "../../chat/screen.ts";
import { completeLine, handleLine, isForThisTurn } from "../../chat/slash.ts";
import { type Built, interrupter, lineTaker, typed } from "../../chat/typing.ts";
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

export async function chatWith(cx: Terminal, { client }: Connection, args: ChatArgs): Promise<number> {
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 } });
  const known = (await client.call("listSessions", { query: { closed: true } })).sessions;
  const { asks } = await client.call("listAsks");
  tellAttention(cx, await client.call("status"));
  const session = await openSession(client, args);
  const following = new AbortController();
  const build = (screen: Screen) => {
    const rows = cx.interactive ? () => cx.rows : null;
    const options = { client, screen, style: cx.style, env: cx.env, width: () => cx.columns, rows };
    const conversation = new Chat(options, session, known);
    for (const ask of asks) conversation.asks.opened(ask, session.id);
    const followed = conversation.follow(after, following.signal).catch((error: unknown) => {
      conversation.abandon();
      complain(conversation, error);
    });
    return { conversation, followed };
  };
  const talk = cx.editable ? typed : typedPlainly;
  const { conversation, followed } = cx.interactive ? await talk(cx, client, build) : await piped(cx, build);
  following.abort();
  await followed;
  await leave(cx, client, conversation, args.session === undefined ? session : null);
  return exitCodes.ok;
}

function openSession(client: Client, args: ChatArgs): Promise<SessionView> {
  if (args.session !== undefined) return resolveSession(client, args.session);
  const body = args.agent === undefined ? {} : { agent: args.agent };
  return client.call("createSession", { body }).then((answer) => answer.session);
}

/** For a terminal that cannot move its cursor. */
async function typedPlainly(cx: Terminal, client: Client, build: (screen: Screen) => Built): Promise<Built> {
  const completer = (line: string, done: Completed) =>
    void completeLine(client, line).then((found) => done(null, found));
  const input = createInterface({ input: cx.stdin, output: cx.stdout, terminal: true, completer });
  const screen = new ReadlineScreen(cx, input);
  const style = cx.style;
  const built = build(screen);
  const { conversation } = built;
  const { session } = conversation;
  screen.line(style.dim(`Chatting with ${sessionLabel(session)}, agent ${session.agent}. /help lists commands.`));
  const left = Promise.withResolvers<void>();
  let begun: number | null = null;
  const onKey = () => {
    screen.keyPressed();
    begun = input.line === "" ? null : (begun ?? Date.now());
  };
  const onTerminate = cx.onStop((signal) => signal !== "SIGINT" && left.resolve());
  cx.stdin.on("keypress", onKey);
  input.on("close", () => left.resolve());
  input.on(
    "SIGINT",
    interrupter(conversation, () => left.resolve()),
  );
  const take = lineTaker(
    conversation,
    () => left.resolve(),
    () => !conversation.working && screen.show(),
  );
  input.on("line", (line) => {
    screen.lineTaken();
    const typedAt = begun ?? Date.now();
    begun = null;
    take(line, typedAt);
  });
  screen.show();
  await left.promise;
  screen.hide();
  cx.stdin.off("keypress", onKey);
  onTerminate();
  input.close();
  return built;
}

type Completed = (error: null, found: [string[], string]) => void;

/** Each line waits for the answer to the line before, except lines that apply to that same turn. */
async function piped(cx: Terminal, build: (screen: Screen) => Built): Promise<Built> {
  const built = build(plainScreen(cx));
  const { conversation } = built;
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
        if ((await handleLine(conversation, line)) === "leave") return built;
        await conversation.answered();
      } catch (error) {
        complain(conversation, error);
      }
    }
    await read;
    return built;
  } finally {
    undo();
  }
}

/** Closes a session that was created for this chat and never used. */
async function leave(cx: Terminal, client: Client, chat: Chat, own: SessionView | null): Promise<void> {
  if (own !== null && !chat.used) {
    await client.call("closeSession", { path: { session: own.id } }).catch(() => {});
    return;
  }
  if (cx.interactive && chat.session.state !== "closed") {
    cx.warn(cx.style.dim(`${chat.session.handle} stays open; continue with: aegis chat ${chat.session.handle}`));
  }
}
